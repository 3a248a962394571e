// Where profiles come from: the page itself, the server that gave it, or files that one drops on it.

import { Damage } from "./columns";
import { readProfile, type ReadFile } from "./format";

export interface Source {
  name: string;
  /** A tool put it here, and has written down its findings if there are any. */
  advised: boolean;
  bytes: () => Promise<Uint8Array>;
}

/** Files that a tool put into the page, one script element each. */
export function embedded(): Source[] {
  const scripts = document.querySelectorAll<HTMLScriptElement>('script[type="application/octet-stream;base64"]');
  return Array.from(scripts, (script) => ({
    name: script.dataset["name"] ?? "profile",
    advised: true,
    bytes: async () => fromBase64((script.textContent ?? "").trim()),
  }));
}

export const isServed = (): boolean =>
  document.querySelector("script[data-served]") !== null || new URLSearchParams(location.hash.slice(1)).has("served");

/** What `files.json` of the page's own server lists. */
export async function served(): Promise<Source[]> {
  const answer = await fetch("files.json");
  if (!answer.ok) throw new Damage(`files.json: the server says ${answer.status} ${answer.statusText}`);
  const listed = (await answer.json()) as (string | { name: string; url?: string })[];
  return listed.map((entry) => {
    const { name, url = name } = typeof entry === "string" ? { name: entry } : entry;
    return {
      name,
      advised: true,
      bytes: async () => {
        const file = await fetch(url);
        if (!file.ok) throw new Damage(`${name}: the server says ${file.status} ${file.statusText}`);
        return new Uint8Array(await file.arrayBuffer());
      },
    };
  });
}

export const dropped = (files: Iterable<File>): Source[] =>
  Array.from(files, (file) => ({ name: file.name, advised: false, bytes: async () => new Uint8Array(await file.arrayBuffer()) }));

export async function readAll(sources: Source[], progress: (share: number, name: string) => void): Promise<ReadFile[]> {
  const files: ReadFile[] = [];
  for (const [i, source] of sources.entries()) {
    progress(i / sources.length, source.name);
    const bytes = await source.bytes();
    await new Promise((go) => setTimeout(go));
    const file = await readProfile(source.name, bytes, (share) => progress((i + share) / sources.length, source.name));
    files.push({ ...file, advised: source.advised || file.tables.findings.rows > 0 });
  }
  return files;
}

interface Base64Reader {
  fromBase64?: (text: string) => Uint8Array;
}

function fromBase64(text: string): Uint8Array {
  const native = (Uint8Array as unknown as Base64Reader).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}
