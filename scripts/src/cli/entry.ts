/**
 * The way in. `--help` and `--version` are answered here from prepared text: no other module is loaded for them.
 * Everything else is `dispatch.ts`.
 */
import { EXIT, type ExitCode } from "../core/exit-codes.ts";
import { VERSION } from "../core/generated/version.ts";
import { systemEnvironment } from "../host/env.ts";
import { helpTexts } from "./help-texts.ts";
import { printFault, printText } from "./sink.ts";

/** Runs one command line and returns its exit code. Never rejects, never exits. */
export async function entry(argv: readonly string[], self: readonly string[]): Promise<ExitCode> {
  try {
    const prepared = preparedAnswer(argv);
    if (prepared !== null) {
      printText(prepared);
      return EXIT.done;
    }
    const { dispatch } = await import("./dispatch.ts");
    return await dispatch(argv, self);
  } catch (fault) {
    return reportFault(fault);
  }
}

function preparedAnswer(argv: readonly string[]): string | null {
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) return VERSION;
  const topic = helpTopic(argv);
  if (topic === null) return null;
  const texts = helpTexts();
  const [first = "", second = ""] = topic;
  return texts.get(`${first} ${second}`) ?? texts.get(first) ?? null;
}

/** The words that help is asked for, none for the tool's own; null when nobody asks. */
function helpTopic(argv: readonly string[]): readonly string[] | null {
  if (argv.length === 0) return [];
  if (argv[0]?.startsWith("__") === true) return null;
  const end = argv.indexOf("--");
  const own = end === -1 ? argv : argv.slice(0, end);
  const words = own.filter((arg) => !arg.startsWith("-"));
  if (own.some((arg) => arg === "--help" || arg === "-h")) return words;
  return words[0] === "help" && !own.includes("--json") ? words.slice(1) : null;
}

/** A bug or a fault nobody expected: one line, and a stack trace only for who asks for it by ORCHESTRATE_DEBUG. */
export function reportFault(fault: unknown): ExitCode {
  printFault(`orchestrate: ${faultLine(fault)}`);
  return EXIT.environment;
}

function faultLine(fault: unknown): string {
  if (!(fault instanceof Error)) return `internal error: ${String(fault)}`;
  if (fault.stack !== undefined && systemEnvironment().get("ORCHESTRATE_DEBUG") === "1") return fault.stack;
  return `internal error: ${fault.message.split("\n", 1)[0]}`;
}
