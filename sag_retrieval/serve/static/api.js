/** Requests to the server that the page came from; what was answered is kept until the page is left. */
import { kept } from "./dom.js";

const answers = new Map();

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function request(path, body, signal, method = body ? "POST" : "GET") {
  const key = kept("key", sessionStorage);
  const headers = { ...(body && { "Content-Type": "application/json" }), ...(key && { Authorization: `Bearer ${key}` }) };
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal });
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => null);
  throw new Refused(answer.status, told?.error?.message ?? `${answer.status} ${answer.statusText}`);
}

/** A JSON answer; the same question is asked once. */
export async function ask(path, body, signal) {
  const name = JSON.stringify([path, body]);
  if (!answers.has(name)) answers.set(name, await (await request(path, body, signal)).json());
  return answers.get(name);
}

/** Change something: what the server says then is kept in place of what it said before. */
export async function change(path, method, body, kept) {
  const told = await (await request(path, body, undefined, method)).json();
  answers.set(JSON.stringify([kept, undefined]), told);
  return told;
}

/** Forget all answers: there may be another release, or another key. */
export const forget = () => answers.clear();

/** The events of an answer as they come: `{name, data}`; one that was answered to its end is told again from memory. */
export async function* stream(path, body, signal) {
  const name = JSON.stringify([path, body, "stream"]);
  if (answers.has(name)) return yield* answers.get(name);
  const told = [];
  for await (const event of received(await request(path, body, signal))) {
    if (event.name === "error") throw new Refused(0, event.data.message);
    told.push(event);
    yield event;
  }
  answers.set(name, told);
}

async function* received(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/s.exec(block) ?? [];
      if (name) yield { name, data: JSON.parse(data) };
    }
  }
}
