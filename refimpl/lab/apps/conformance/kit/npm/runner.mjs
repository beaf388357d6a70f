// Checks a module, or any program, against the test vectors beside this folder.
//
//     node runner.mjs mine.mjs                a module that exports kernels by their names
//     node runner.mjs --cmd './adapter -v'    a program that speaks the protocol
//
// Options: --only KERNEL, --level LEVEL, --report FILE, --timeout SECONDS. The exit status is 0 if
// no case differs, at least one passed and the level is reached, 1 if not, and 2 for bad usage.

import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { decode, difference, encode, parse, short, stateDifference, text, Written } from "./values.mjs";

const ROOT = new URL("../", import.meta.url);
const read = (name) => readFileSync(new URL(name, ROOT), "utf8");
const PROTOCOL = "minibatch-gnn-conformance/1";
const MOST_LOST = 3; // cases of a kernel that may lose the program, before the rest is not asked
const SHOWN = 2; // requirements of a case that are shown in words

class Lost extends Error {}

// ---- Who is asked ----

// A module. TypeError and RangeError are refusals, and an error with `skip` is a skipped case.
class Module {
  constructor(kernels) { this.kernels = kernels; }

  static async open(path) {
    return new Module(await import(pathToFileURL(resolve(path)).href));
  }

  get about() {
    return { name: String(this.kernels.name ?? "module"), version: String(this.kernels.version ?? "unknown") };
  }

  async ask(file, test) {
    const kernel = this.kernels[file.function];
    if (typeof kernel !== "function") return { skip: "not implemented" };
    const args = Object.fromEntries(Object.entries(test.args).map(([name, x]) => [name, decode(x)]));
    const states = [];
    try {
      const result = encode(await kernel(args, states));
      const changed = Object.fromEntries(file.writes.map((name) => [name, encode(args[name])]));
      if (test.error === "type" && hasWholeReal(test.args)) return { skip: "JavaScript cannot tell 2.0 from 2" };
      return { result, changed, ...(states.length ? { states: states.map((x) => encode(x).fields) } : {}) };
    } catch (error) {
      if (error?.skip) return { skip: String(error.skip) };
      if (error instanceof RangeError) return { error: "value" };
      if (error instanceof TypeError) return { error: "type" };
      return { fault: String(error) };
    }
  }

  close() {}
}

function hasWholeReal(value) {
  if (value instanceof Written) return /^-?\d+\.0$/.test(value.text);
  return value !== null && typeof value === "object" && Object.values(value).some(hasWholeReal);
}

// A program that reads questions from its standard input.
class Program {
  constructor(words, timeout) { [this.words, this.timeout, this.id] = [words, timeout, 0]; }

  static async open(words, timeout) {
    const program = new Program(words, timeout);
    await program.start();
    return program;
  }

  async start() {
    const [command, ...rest] = this.words;
    this.id = 0;
    this.child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
    this.child.stdin.on("error", () => {}); // the end of the output says so, too
    this.ended = new Promise((done) => {
      this.child.on("error", (error) => done(`cannot be started: ${error.message}`));
      this.child.on("exit", (code, signal) => done(`ended with ${signal ?? code}`));
    });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    const hello = await this.send(`"hello":"${PROTOCOL}"`);
    this.hasIds = hello.id !== undefined;
    if (hello.fault !== undefined) throw new Lost(`the program cannot answer: ${short(hello.fault)}`);
    this.about = { name: String(hello.name ?? "program"), version: String(hello.version ?? "unknown") };
  }

  async send(members) {
    const id = this.id++;
    this.child.stdin.write(`{"id":${id},${members}}\n`);
    let timer;
    const late = new Promise((_, fail) => {
      timer = setTimeout(() => fail(new Lost(`no answer in ${this.timeout} s`)), this.timeout * 1000);
    });
    try {
      const { value, done } = await Promise.race([this.lines.next(), late]);
      if (done) throw new Lost(`the program ${await Promise.race([this.ended, late])}`);
      let answer;
      try { answer = parse(value); } catch { throw new Lost(`no JSON: ${short(value)}`); }
      const isObject = answer !== null && typeof answer === "object" && !Array.isArray(answer);
      if (!isObject) throw new Lost(`no object: ${short(value)}`);
      if (this.hasIds && answer.id?.text !== String(id)) throw new Lost(`a line that was not asked for: ${short(value)}`);
      return answer;
    } finally {
      clearTimeout(timer);
    }
  }

  async ask(file, test) {
    if (this.child.exitCode !== null || this.child.signalCode !== null || this.child.killed) await this.start();
    const writes = file.writes.length ? `,"writes":${JSON.stringify(file.writes)}` : "";
    try {
      return await this.send(`"call":"${file.function}","args":${text(test.args)}${writes}`);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close() { this.child.kill("SIGKILL"); }
}

// ---- Verdicts ----

// Return [verdict, what is said of it, whether states were compared].
export function judge(file, test, answer) {
  if (answer.skip !== undefined) return ["skip", short(answer.skip), false];
  const wanted = test.error ? `want error '${test.error}'` : "want a result";
  if (answer.fault !== undefined) return ["differs", `${wanted}, got a fault: ${short(answer.fault)}`, false];
  if (test.error || answer.error !== undefined) {
    if (answer.error === test.error) return ["pass", "", false];
    const got = answer.error === undefined ? "a result" : `error '${short(answer.error)}'`;
    return ["differs", `${wanted}, got ${got}`, false];
  }
  if (answer.result === undefined) return ["differs", `${wanted}, got ${short(answer)}`, false];
  const given = test.states && answer.states ? answer.states : null;
  const found = (given && stateDifference(test.states, given, file.compare))
    ?? difference(test.result, answer.result, file.compare)
    ?? (test.changed ? difference({ fields: test.changed }, { fields: answer.changed }, file.compare, "changed") : null);
  const compared = Array.isArray(given) && given.some((state) => Object.keys(state ?? {}).length > 0);
  return [found ? "differs" : "pass", found ?? "", compared];
}

async function askAll(asked, file) {
  const { paper, place } = file.source;
  const verdicts = [];
  let lost = 0;
  for (const test of file.cases) {
    const begin = performance.now();
    let found = ["not run", "", false];
    if (lost < MOST_LOST) {
      try {
        found = judge(file, test, await asked.ask(file, test));
      } catch (error) {
        if (!(error instanceof Lost)) throw error;
        found = ["lost", error.message, false];
        lost++;
      }
    }
    const [verdict, said, states] = found;
    const seconds = verdict === "not run" ? 0 : (performance.now() - begin) / 1000;
    verdicts.push({ paper, kernel: file.function, place, case: test.id, verdict, seconds, difference: said, states });
  }
  return verdicts;
}

const failed = ({ verdict }) => verdict === "differs" || verdict === "lost";

// Return {met, missed, open}: the names of the requirements of which a case was asked.
function standing(verdicts, specification) {
  const given = new Map(verdicts.map((v) => [`${v.kernel}/${v.case}`, v.verdict]));
  const lists = { met: [], missed: [], open: [] };
  for (const kernel of new Set(verdicts.map((v) => v.kernel))) {
    const { requirements, refusals } = specification[kernel];
    const refused = new Set(refusals.flatMap((row) => row.cases));
    for (const { name, cases } of requirements) {
      const kinds = cases.map((id) => given.get(`${kernel}/${id}`));
      if (kinds.every((kind) => kind === undefined)) continue;
      const fits = (kind, i) => kind === "pass" || (kind === "skip" && refused.has(cases[i]));
      const isMet = kinds.every(fits) && kinds.includes("pass");
      lists[kinds.some((kind) => failed({ verdict: kind })) ? "missed" : isMet ? "met" : "open"].push(name);
    }
  }
  return lists;
}

function levelsOf(verdicts, levels, files) {
  const given = new Map(verdicts.map((v) => [`${v.kernel}/${v.case}`, v.verdict]));
  const found = {};
  for (const [level, kernels] of Object.entries(levels)) {
    const inside = files.filter((file) => kernels.includes(file.function));
    const kinds = inside.map((file) => file.cases.map((test) => [given.get(`${file.function}/${test.id}`), test.error]));
    if (kinds.flat().some(([kind]) => kind === undefined)) continue;
    const isComplete = (cases) => cases.every(([kind, error]) => kind === "pass" || (error && kind === "skip"));
    const complete = kinds.filter(isComplete).length;
    found[level] = { complete, kernels: inside.length, reached: complete === inside.length };
  }
  return found;
}

// ---- The command ----

function show(verdicts, specification) {
  for (const kernel of new Set(verdicts.map((v) => v.kernel))) {
    const own = verdicts.filter((v) => v.kernel === kernel);
    const passed = own.filter((v) => v.verdict === "pass").length;
    if (own.every((v) => v.verdict === "skip")) continue;
    const bad = own.find(failed);
    console.log(`${kernel} ${passed}/${own.length} ${bad ? bad.verdict : "conforms"}`);
    if (!bad) continue;
    console.log(`  ${bad.case}: ${bad.difference}`);
    const { requirements, refusals } = specification[kernel];
    const broken = requirements.filter((x) => x.cases.includes(bad.case));
    broken.sort((a, b) => a.cases.length - b.cases.length);
    const why = refusals.filter((row) => row.cases.includes(bad.case)).map((row) => ` Here ${row.when}.`).join("");
    for (const { name, says } of broken.slice(0, SHOWN)) console.log(`    ${name}: ${says}${why}`);
  }
}

// Return the words of a command, as a shell does with quotes.
const split = (line) => (line.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? [])
  .map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, (_, one, two) => one ?? two));

function refuseUsage(message) {
  console.error(message);
  process.exit(2);
}

function given() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        cmd: { type: "string" }, only: { type: "string" }, level: { type: "string" },
        report: { type: "string" }, timeout: { type: "string", default: "60" },
      },
    });
  } catch (error) {
    return refuseUsage(error.message);
  }
}

async function main() {
  const { values, positionals } = given();
  if ((positionals.length === 1) === Boolean(values.cmd)) refuseUsage("give one module, or --cmd COMMAND");
  const levels = JSON.parse(read("levels.json"));
  if (values.level && !levels[values.level]) refuseUsage(`--level must be one of ${Object.keys(levels).join(", ")}`);
  const index = JSON.parse(read("index.json"));
  const specification = JSON.parse(read("requirements.json")).kernels;
  const files = JSON.parse(read("files.json")).map((name) => parse(read(name)));
  const wanted = values.level ? levels[values.level] : values.only ? [values.only] : null;
  const chosen = files.filter((file) => !wanted || wanted.includes(file.function));
  if (!chosen.length) refuseUsage(`--only ${values.only}: there is no such kernel`);
  let asked;
  try {
    asked = values.cmd
      ? await Program.open(split(values.cmd), Number(values.timeout))
      : await Module.open(positionals[0]);
  } catch (error) {
    refuseUsage(error.message);
  }
  const verdicts = [];
  for (const file of chosen) verdicts.push(...(await askAll(asked, file)));
  asked.close();
  const reached = levelsOf(verdicts, levels, files);
  const requirements = standing(verdicts, specification);
  const isRequired = !values.level || reached[values.level].reached;
  const isFine = verdicts.every(({ verdict }) => verdict === "pass" || verdict === "skip");
  const status = isFine && isRequired && verdicts.some(({ verdict }) => verdict === "pass") ? 0 : 1;
  show(verdicts, specification);
  const names = Object.keys(reached).filter((level) => reached[level].reached);
  console.log(`${asked.about.name} ${asked.about.version} by the vectors ${index.version}`);
  console.log(`levels reached: ${names.join(", ") || "none"}`);
  if (requirements.missed.length) console.log(`requirements missed: ${requirements.missed.join(", ")}`);
  if (values.report) {
    const report = {
      format: "minibatch-gnn-conformance-report/3",
      kit: { name: "minibatch-gnn npm", version: index.version },
      vectors: { format: "minibatch-gnn-vectors/1", version: index.version },
      program: asked.about, lost: null, status,
      states_compared: verdicts.filter((v) => v.states).length,
      levels: reached, unexpected_passes: [], requirements, cases: verdicts,
    };
    writeFileSync(values.report, `${JSON.stringify(report, null, 1)}\n`);
  }
  process.exitCode = status;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main();
