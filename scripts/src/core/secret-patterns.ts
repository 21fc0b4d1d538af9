/**
 * The shapes of secrets that we refuse in a spec and mask in everything we write.
 *
 * Rules that every row keeps, and that tests hold it to:
 * - a match starts exactly at one of the row's literal `anchors`, so a scanner may look for anchors alone and
 *   try the pattern (made sticky) only there;
 * - every repetition is bounded and two neighbouring runs never share a character, so the anchor repeated for
 *   64 KB costs a few milliseconds: unbounded or overlapping runs were measured at 65 ms and more;
 * - no match is longer than `maxLength`, the most that a stream has to hold back.
 */
export interface SecretPattern {
  readonly id: string;
  /** What it is, for a person: "an AWS access key id". Goes into messages, so it never quotes a value. */
  readonly title: string;
  readonly anchors: readonly string[];
  /** Global; clone it with the `y` flag to try it at one place. */
  readonly pattern: RegExp;
  readonly maxLength: number;
  /** The capture that holds the secret itself; absent: the whole match. */
  readonly group?: number;
}

/**
 * Where a short or wordlike prefix may begin: after no word character, or after an escape (`\n` in JSON, `%3D` in
 * a URL, the end of a colour code) whose last character only looks like one.
 */
const START = String.raw`(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\[[0-9;]{0,12}m))`;

/** A run of token characters; a backslash-newline inside (a wrapped shell line) does not end it. */
const run = (chars: string, min: number, max: number): string =>
  String.raw`(?:[${chars}]|\\\r?\n){${min},${max}}`;

const WORD = "A-Za-z0-9";
const DASHED = "A-Za-z0-9_-";
const HEX = "0-9a-f";
/** A wrapped line costs three characters more for each of its breaks: room for a few. */
const WRAP_ROOM = 64;

interface TokenShape {
  readonly id: string;
  readonly title: string;
  readonly anchors: readonly string[];
  /** What follows the prefix. */
  readonly tail: string;
  /** Longest tail in characters. */
  readonly tailMax: number;
  /** The prefix is short or a common word part: it must not start inside a word. */
  readonly bounded?: true;
}

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");

function token(shape: TokenShape): SecretPattern {
  const longest = Math.max(...shape.anchors.map((anchor) => anchor.length));
  let pattern: RegExp | undefined;
  return {
    id: shape.id,
    title: shape.title,
    anchors: shape.anchors,
    // Made at the first use: most texts hold none of the anchors.
    get pattern() {
      const prefix = shape.anchors.map(literal).join("|");
      pattern ??= new RegExp(`${shape.bounded === true ? START : ""}(?:${prefix})${shape.tail}`, "g");
      return pattern;
    },
    // Each unit of a run can be the three characters of a wrapped line, but nobody wraps after each character.
    maxLength: longest + shape.tailMax * 3 + WRAP_ROOM,
  };
}

const prefixed = (
  id: string,
  title: string,
  anchors: readonly string[],
  chars: string,
  [min, max]: readonly [number, number],
  bounded?: true,
): SecretPattern =>
  token({
    id,
    title,
    anchors,
    tail: run(chars, min, max),
    tailMax: max,
    ...(bounded === true ? { bounded } : {}),
  });

const TOKENS: readonly SecretPattern[] = [
  prefixed("github-token", "a GitHub token", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], WORD, [36, 255]),
  prefixed("github-fine-grained", "a GitHub fine-grained token", ["github_pat_"], "A-Za-z0-9_", [40, 255]),
  prefixed(
    "gitlab-token",
    "a GitLab token",
    ["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"],
    `.${DASHED}`,
    [20, 128],
  ),
  token({
    id: "anthropic-key",
    title: "an Anthropic API key",
    anchors: ["sk-ant-"],
    tail: run(DASHED, 24, 255),
    tailMax: 255,
    bounded: true,
  }),
  token({
    id: "openai-key",
    title: "an OpenAI API key",
    anchors: ["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-", "sk-or-v1-"],
    tail: run(DASHED, 24, 255),
    tailMax: 255,
    bounded: true,
  }),
  // No dashes in the old form: "sk-learn-..." and the like are names of packages.
  prefixed("openai-legacy-key", "an `sk-` API key", ["sk-"], WORD, [24, 255], true),
  prefixed("groq-key", "a Groq API key", ["gsk_"], WORD, [40, 128], true),
  prefixed("xai-key", "an xAI API key", ["xai-"], WORD, [60, 128], true),
  prefixed("perplexity-key", "a Perplexity API key", ["pplx-"], WORD, [40, 128], true),
  prefixed("replicate-token", "a Replicate token", ["r8_"], WORD, [36, 64], true),
  prefixed("huggingface-token", "a Hugging Face token", ["hf_"], WORD, [30, 64], true),
  prefixed("aws-access-key-id", "an AWS access key id", ["AKIA", "ASIA"], "A-Z0-9", [16, 16]),
  prefixed("google-api-key", "a Google API key", ["AIza"], DASHED, [35, 35]),
  prefixed("google-oauth-token", "a Google OAuth token", ["ya29."], DASHED, [20, 255]),
  prefixed("google-client-secret", "a Google client secret", ["GOCSPX-"], DASHED, [24, 64]),
  prefixed(
    "slack-token",
    "a Slack token",
    ["xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xoxe-"],
    DASHED,
    [10, 255],
  ),
  prefixed("slack-app-token", "a Slack app token", ["xapp-"], DASHED, [20, 255], true),
  prefixed("slack-webhook", "a Slack webhook URL", ["hooks.slack.com/services/"], "A-Za-z0-9/", [20, 120]),
  token({
    id: "discord-webhook",
    title: "a Discord webhook URL",
    anchors: ["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
    tail: `[0-9]{15,22}/${run(DASHED, 40, 100)}`,
    tailMax: 123,
  }),
  prefixed("stripe-key", "a Stripe key", ["sk_live_", "rk_live_", "sk_test_", "rk_test_"], WORD, [16, 255]),
  prefixed("stripe-webhook-secret", "a Stripe webhook secret", ["whsec_"], "A-Za-z0-9+/=", [24, 128]),
  prefixed("npm-token", "an npm token", ["npm_"], WORD, [36, 64], true),
  prefixed("pypi-token", "a PyPI token", ["pypi-"], DASHED, [50, 255], true),
  token({
    id: "sendgrid-key",
    title: "a SendGrid key",
    anchors: ["SG."],
    tail: String.raw`${run(DASHED, 16, 32)}\.${run(DASHED, 32, 64)}`,
    tailMax: 97,
    bounded: true,
  }),
  token({
    id: "twilio-key",
    title: "a Twilio key",
    anchors: ["SK"],
    tail: `[${HEX}]{32}(?![A-Za-z0-9])`,
    tailMax: 32,
    bounded: true,
  }),
  token({
    id: "mailgun-key",
    title: "a Mailgun key",
    anchors: ["key-"],
    tail: `[${HEX}]{32}(?![A-Za-z0-9])`,
    tailMax: 32,
    bounded: true,
  }),
  prefixed("digitalocean-token", "a DigitalOcean token", ["dop_v1_", "doo_v1_", "dor_v1_"], HEX, [64, 64]),
  prefixed(
    "shopify-token",
    "a Shopify token",
    ["shpat_", "shpss_", "shpca_", "shppa_"],
    "0-9a-fA-F",
    [32, 32],
  ),
  prefixed("databricks-token", "a Databricks token", ["dapi"], HEX, [32, 40], true),
  prefixed("docker-token", "a Docker token", ["dckr_pat_"], DASHED, [24, 64]),
  prefixed("linear-key", "a Linear key", ["lin_api_"], WORD, [36, 64]),
  prefixed("newrelic-key", "a New Relic key", ["NRAK-"], "A-Z0-9", [27, 40]),
  prefixed("postman-key", "a Postman key", ["PMAK-"], "A-Za-z0-9-", [50, 80]),
  prefixed("sentry-token", "a Sentry token", ["sntrys_", "sntryu_"], "A-Za-z0-9_+/=", [40, 255]),
  prefixed("supabase-token", "a Supabase token", ["sbp_"], HEX, [40, 64], true),
  prefixed("vault-token", "a Vault token", ["hvs.", "hvb."], DASHED, [24, 255], true),
  prefixed("doppler-token", "a Doppler token", ["dp.pt.", "dp.st."], WORD, [36, 64], true),
  prefixed("age-secret-key", "an age secret key", ["AGE-SECRET-KEY-1"], "0-9A-Z", [58, 58]),
  token({
    id: "telegram-bot-token",
    title: "a Telegram bot token",
    anchors: [":AA"],
    tail: `(?<=[0-9]{8,10}:AA)[${DASHED}]{33}`,
    tailMax: 33,
  }),
  token({
    id: "azure-storage-key",
    title: "an Azure storage key",
    anchors: ["AccountKey=", "SharedAccessKey="],
    tail: "[A-Za-z0-9+/]{40,90}={0,2}",
    tailMax: 92,
  }),
];

/** Text that stands for a value and is none: a variable, a template hole, a mask, a literal of a language. */
const NO_VALUE = String.raw`(?!\$|<|\{|\[|\*{3}|x{4}|X{4}|\.{3}|%[A-Z_]{2,40}%|process\.env|os\.environ|this[.$]|(?:your|YOUR|my|MY|the|THE)[_-]|(?:null|true|false|none|None|undefined|required|optional)(?![A-Za-z0-9]))`;
const QUOTE = String.raw`\\{0,3}["']?`;
/** No brackets: `token = match[0]` and `secret=read(path)` are code. */
const VALUE_CHARS = String.raw`[^\s"'\u0060<>{}()[\]&\\]`;
/** What tells a value from a word: a digit or sign among the first 100 characters, or a run no language pronounces. */
const RANDOM = String.raw`(?=[^\s"'\u0060<>{}()[\]&\\0-9@#%^*+~]{0,100}[0-9@#%^*+~]|[A-Za-z]{0,20}?[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{6})`;

const SECRET_WORDS = [
  "password",
  "passwd",
  "passphrase",
  "secret",
  "token",
  "api_key",
  "apikey",
  "api-key",
  "access_key",
  "private_key",
  "client_secret",
  "credential",
  "credentials",
] as const;
const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
const spellings = (words: readonly string[]): readonly string[] => [
  ...new Set(words.flatMap((word) => [word, word.toUpperCase(), capital(word)])),
];
const WORD_ANCHORS: readonly string[] = [
  ...spellings(SECRET_WORDS),
  "apiKey",
  "ApiKey",
  "accessKey",
  "AccessKey",
  "privateKey",
  "PrivateKey",
];
const ENV_ANCHORS: readonly string[] = SECRET_WORDS.filter((word) => !word.includes("-")).map((word) =>
  word.toUpperCase(),
);
const QUERY_NAMES = [
  "token",
  "access_token",
  "refresh_token",
  "id_token",
  "api_key",
  "apikey",
  "api-key",
  "auth",
  "key",
  "secret",
  "client_secret",
  "password",
  "sig",
  "signature",
  "X-Amz-Signature",
  "X-Amz-Security-Token",
  "X-Goog-Signature",
] as const;
const QUERY_ANCHORS: readonly string[] = QUERY_NAMES.flatMap((name) => [`?${name}=`, `&${name}=`]);

const alternatives = (anchors: readonly string[]): string =>
  [...anchors]
    .sort((a, b) => b.length - a.length)
    .map(literal)
    .join("|");

/** Made at the first use, like those of the tokens: most texts hold none of the anchors. */
function contextual(
  entry: Omit<SecretPattern, "pattern"> & { readonly pattern: () => RegExp },
): SecretPattern {
  let made: RegExp | undefined;
  return {
    ...entry,
    get pattern() {
      made ??= entry.pattern();
      return made;
    },
  };
}

const CONTEXTUAL: readonly SecretPattern[] = [
  contextual({
    id: "private-key",
    title: "a private-key block",
    anchors: ["-----BEGIN "],
    // The body may be folded, escaped (`\n`) or cut off; a header such as `Proc-Type: 4,ENCRYPTED` belongs to it.
    pattern: () =>
      /-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s\\:,.()]|-(?!----)){0,8000}(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?/g,
    maxLength: 8192,
  }),
  contextual({
    id: "jwt",
    title: "a JSON Web Token",
    anchors: ["eyJ"],
    pattern: () =>
      new RegExp(
        String.raw`${START}eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,3000}\.[A-Za-z0-9_-]{10,1000}`,
        "g",
      ),
    maxLength: 6100,
  }),
  contextual({
    id: "bearer",
    title: "a bearer token",
    anchors: ["Bearer ", "bearer ", "BEARER "],
    pattern: () =>
      /(?:Bearer|bearer|BEARER) {1,3}(?=[A-Za-z._~+/=-]{0,200}[0-9])([A-Za-z0-9._~+/=-]{16,2000})/g,
    maxLength: 2010,
    group: 1,
  }),
  contextual({
    id: "basic-auth",
    title: "a Basic authorization header",
    anchors: ["Authorization", "authorization", "AUTHORIZATION"],
    pattern: () =>
      /(?:Authorization|authorization|AUTHORIZATION)\\{0,3}["']? {0,3}[:=] {0,3}\\{0,3}["']?[Bb]asic {1,3}([A-Za-z0-9+/]{8,1000}={0,2})/g,
    maxLength: 1050,
    group: 1,
  }),
  contextual({
    id: "basic-credentials",
    title: "Basic credentials",
    anchors: ["Basic "],
    pattern: () =>
      /Basic {1,3}(?=[A-Za-z+/]{0,200}[0-9])(?=[a-z0-9+/]{0,200}[A-Z])([A-Za-z0-9+/]{24,1000}={0,2})/g,
    maxLength: 1020,
    group: 1,
  }),
  contextual({
    id: "url-credentials",
    title: "credentials in a URL",
    anchors: ["://"],
    pattern: () => /:\/\/[^\s/@:"'<>{}]{0,100}:(?!\$|<|\{|\*{3}|x{4}|%[A-Z_]{2,40}%)([^\s/@"'<>]{3,200})@/g,
    maxLength: 310,
    group: 1,
  }),
  contextual({
    id: "url-token",
    title: "a token in a URL",
    anchors: ["://"],
    pattern: () => /:\/\/(?=[A-Za-z_.~-]{0,200}[0-9])([A-Za-z0-9_.~-]{20,200})@/g,
    maxLength: 210,
    group: 1,
  }),
  contextual({
    id: "url-parameter",
    title: "a credential in a URL parameter",
    anchors: QUERY_ANCHORS,
    pattern: () =>
      new RegExp(
        `(?:${alternatives(QUERY_ANCHORS)})${NO_VALUE}(?=[A-Za-z._~%+/=-]{0,200}[0-9])([A-Za-z0-9._~%+/=-]{8,1000})`,
        "g",
      ),
    maxLength: 1040,
    group: 1,
  }),
  contextual({
    id: "aws-secret-access-key",
    title: "an AWS secret access key",
    anchors: ["aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey", "secretAccessKey"],
    pattern: () =>
      new RegExp(
        String.raw`(?:aws_secret_access_key|AWS_SECRET_ACCESS_KEY|[Ss]ecretAccessKey)${QUOTE}\s{0,3}[:=]\s{0,3}${QUOTE}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])`,
        "g",
      ),
    maxLength: 90,
    group: 1,
  }),
  contextual({
    id: "secret-variable",
    title: "a value assigned to a secret-named variable",
    anchors: ENV_ANCHORS,
    // In the style of an environment (`DB_PASSWORD=...`) any value of some length is taken at its word.
    pattern: () =>
      new RegExp(
        `(?:${alternatives(ENV_ANCHORS)})(?:_ACCESS_KEY|_KEY|_VALUE|_ID|[0-9])?=${QUOTE}${NO_VALUE}(${VALUE_CHARS}{6,300})`,
        "g",
      ),
    maxLength: 350,
    group: 1,
  }),
  contextual({
    id: "secret-assignment",
    title: "a value assigned to a secret name",
    anchors: WORD_ANCHORS,
    // Prose and code say `password: required` and `token=token` all day: here the value must hold a digit or a sign.
    pattern: () =>
      new RegExp(
        String.raw`(?:${alternatives(WORD_ANCHORS)})(?:_?(?:access)?_?key)?${QUOTE}\s{0,3}(?::=|=>|:|=)\s{0,3}${QUOTE}${NO_VALUE}(?![./])${RANDOM}(${VALUE_CHARS}{8,300})`,
        "g",
      ),
    maxLength: 350,
    group: 1,
  }),
];

export const SECRET_PATTERNS: readonly SecretPattern[] = [...CONTEXTUAL, ...TOKENS];

const SECRET_SEGMENTS: ReadonlySet<string> = new Set([
  "TOKEN",
  "SECRET",
  "SECRETS",
  "PASSWORD",
  "PASSWD",
  "PASSPHRASE",
  "PASS",
  "KEY",
  "APIKEY",
  "CREDENTIAL",
  "CREDENTIALS",
  "CREDS",
  "AUTH",
  "PAT",
  "DSN",
  "COOKIE",
]);

/** Whether a variable of this name probably holds a credential. Names only: a value is never looked at. */
export function looksSecretName(name: string): boolean {
  const segments = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toUpperCase()
    .split(/[^A-Z0-9]+/);
  if (segments.includes("PUBLIC") && segments.includes("KEY")) return false;
  const joined = segments.join("_");
  if (/(?:^|_)(?:DATABASE_URL|CONNECTION_STRING|CONN_STR)$/.test(joined)) return true;
  return segments.some((segment) => SECRET_SEGMENTS.has(segment));
}
