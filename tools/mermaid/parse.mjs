// Parses Mermaid diagrams with Mermaid itself.
//
// Reads a JSON array of {name, text} from standard input and prints a JSON
// array of {name, ok, type, error} in the same order: type is Mermaid's name
// for the kind of diagram when ok, error is its message when not. One process
// takes any number of diagrams, because starting one takes about a second.
// The exit code tells whether the input could be read, not what was in it.
// With --version it prints the versions of Mermaid and Node.js, and stops.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { JSDOM } from "jsdom";

const packages = createRequire(import.meta.url);

if (process.argv.includes("--version")) {
  const { version } = packages("./node_modules/mermaid/package.json");
  console.log(version, process.versions.node);
  process.exit(0);
}

// Mermaid expects a browser: its sanitizer needs a window when it is loaded.
const { window } = new JSDOM("<!doctype html><body></body>");
globalThis.window = window;
globalThis.document = window.document;
const { default: mermaid } = await import("mermaid");
mermaid.initialize({ startOnLoad: false });

async function parse({ name, text }) {
  try {
    const { diagramType } = await mermaid.parse(text);
    return { name, ok: true, type: diagramType, error: "" };
  } catch (error) {
    return { name, ok: false, type: "", error: String(error?.message ?? error) };
  }
}

const results = [];
for (const diagram of JSON.parse(readFileSync(0, "utf8"))) {
  results.push(await parse(diagram)); // in turn: Mermaid keeps its parser state in globals
}
console.log(JSON.stringify(results));
