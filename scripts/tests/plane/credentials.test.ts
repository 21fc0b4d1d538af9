import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { credentialPlaces, everyKey, findCredential, keyOf } from "../../src/plane/credentials.ts";
import { temporaryFolder } from "../support/throwaway-repo.ts";

const KEY = "TYPESAFE_API_KEY";

/** A project, and an installed skill in a `skills/` folder of its own. */
function install() {
  const base = temporaryFolder();
  const project = join(base, "project");
  const skills = join(base, "home", "skills");
  const skill = join(skills, "orchestrate");
  mkdirSync(join(skill, "scripts"), { recursive: true });
  mkdirSync(project);
  writeFileSync(join(skill, "SKILL.md"), "");
  writeFileSync(join(skill, "scripts", "orchestrate.mjs"), "");
  const script = join(skill, "scripts", "orchestrate.mjs");
  const find = (env?: string, from = script, root = project) =>
    findCredential(
      credentialPlaces({
        environment: (name) => (name === KEY ? env : undefined),
        workspaceRoot: root,
        script: from,
      }),
    );
  return { base, project, skills, skill, script, find };
}

describe("the provider key", () => {
  it("comes from the first of four places that has a value; the later ones are reported as shadowed", () => {
    const { project, skills, skill, find } = install();
    expect(find()).toEqual({ source: "absent", trust: null, shadowed: [], value: null });
    writeFileSync(join(skill, ".env"), `${KEY}=from-skill\n`);
    expect(find()).toEqual({ source: "skill-env", trust: "working-tree", shadowed: [], value: "from-skill" });
    writeFileSync(join(skills, ".env"), `${KEY}=from-skills\n`);
    expect(find()).toMatchObject({ source: "skills-env", shadowed: ["skill-env"], value: "from-skills" });
    writeFileSync(join(project, ".env"), `${KEY}=from-project\n`);
    expect(find()).toMatchObject({ source: "project-env", trust: "working-tree", value: "from-project" });
    expect(find("from-env")).toEqual({
      source: "env",
      trust: "process",
      shadowed: ["project-env", "skills-env", "skill-env"],
      value: "from-env",
    });
    const places = {
      env: "from-env",
      project: join(project, ".env"),
      skills: null,
      skill: join(skill, ".env"),
    };
    expect(everyKey(places)).toEqual(["from-env", "from-project", "from-skill"]);
    expect(everyKey({ ...places, env: " ", project: null, skill: null })).toEqual([]);
    writeFileSync(join(project, ".env"), `${KEY}=\n`);
    expect(find("  ")).toMatchObject({ source: "skills-env", shadowed: ["skill-env"] });
  });

  it("is looked for beside the real skill, also through a link, and not beside any other script", () => {
    const { base, skill, skills, script, find } = install();
    writeFileSync(join(skill, ".env"), `${KEY}=from-skill\n`);
    writeFileSync(join(skills, ".env"), `${KEY}=from-skills\n`);
    const linked = join(base, "linked");
    symlinkSync(skill, linked);
    expect(find(undefined, join(linked, "scripts", "orchestrate.mjs"))).toMatchObject({
      source: "skills-env",
    });
    mkdirSync(join(base, "scripts"));
    writeFileSync(join(base, ".env"), `${KEY}=other\n`);
    writeFileSync(join(base, "scripts", "tool.mjs"), "");
    expect(find(undefined, join(base, "scripts", "tool.mjs"))).toMatchObject({ source: "absent" });
    expect(find(undefined, join(base, "gone.mjs"))).toMatchObject({ source: "absent" });
    expect(find(undefined, script).source).toBe("skills-env");
  });

  it("is never read in a linked worktree, where a job may have written it; a submodule is no worktree", () => {
    const { project, find } = install();
    writeFileSync(join(project, ".env"), `${KEY}=planted\n`);
    writeFileSync(join(project, ".git"), "gitdir: /repo/.git/worktrees/job\n");
    expect(find()).toMatchObject({ source: "absent" });
    writeFileSync(join(project, ".git"), "gitdir: /repo/.git/modules/part\n");
    expect(find()).toMatchObject({ source: "project-env" });
  });

  it("is not read from a folder or an endless file", () => {
    const { project, find } = install();
    mkdirSync(join(project, ".env"));
    expect(find()).toMatchObject({ source: "absent" });
    const { project: other, find: findOther } = install();
    writeFileSync(join(other, ".env"), `${KEY}=x\n${"#".repeat(65_536)}`);
    expect(findOther()).toMatchObject({ source: "absent" });
    writeFileSync(join(other, ".env"), `${KEY}=x\n`.padEnd(65_536, "#"));
    expect(findOther()).toMatchObject({ source: "project-env" });
  });
});

describe("a dotenv text", () => {
  it.each([
    [`${KEY}=abc`, "abc"],
    [`export ${KEY}=abc`, "abc"],
    [`  ${KEY} = abc  `, "abc"],
    [`${KEY}="a b"`, null],
    [`${KEY}="abc" # note`, "abc"],
    [`${KEY}='abc'`, "abc"],
    [`${KEY}=abc # note`, "abc"],
    [`${KEY}=ab#c`, "ab#c"],
    [`${KEY}=#c`, null],
    [`${KEY}=one\n${KEY}=two`, "two"],
    [`${KEY}=one\r\nOTHER=x\r\n`, "one"],
    [`\ufeff${KEY}=abc`, "abc"],
    [`OTHER=x\n\ufeff${KEY}=abc`, null],
    [`${KEY}=a"b"`, 'a"b"'],
    [`${KEY}="abc"def`, '"abc"def'],
    [`${KEY}= "abc" `, "abc"],
    [`${KEY}=abc  # note`, "abc"],
    [`${KEY}=abc\t \t#`, "abc"],
    [`${KEY}=a #b\u2028c`, null],
    [`MY_${KEY}=abc`, null],
    [`${KEY}_2=abc`, null],
    [`# ${KEY}=abc`, null],
    [`${KEY}=`, null],
    [`${KEY}=a\u0007b`, null],
    [`${KEY}=é`, null],
    [`OTHER=abc`, null],
    ["", null],
  ])("%j gives %j", (text, value) => {
    expect(keyOf(text)).toBe(value);
  });
});
