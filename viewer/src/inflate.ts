// Inflating chunks: beside the page, in a worker, a few chunks ahead of the one that is being read; on the page itself
// where there is no worker.

import { Damage } from "./columns";

export interface Deflated {
  stored: Uint8Array;
  raw: number;
}

type Answer = { raw: Uint8Array } | { wrong: string };

/** Chunks under way at a time. */
const AHEAD = 3;

/**
 * The inflated bytes; never more than the header promised, whatever the stream holds. Names nothing outside itself: its
 * text is the worker's, too.
 */
async function inflate(stored: Uint8Array, length: number): Promise<Answer> {
  const raw = new Uint8Array(length);
  const inflater = new DecompressionStream("deflate-raw");
  const writer = inflater.writable.getWriter();
  // A failure shows at the reader; the writer's own promises would report it a second time.
  writer.write(stored as Uint8Array<ArrayBuffer>).catch(() => {});
  writer.close().catch(() => {});
  const reader = inflater.readable.getReader();
  let filled = 0;
  for (;;) {
    let piece: ReadableStreamReadResult<Uint8Array>;
    try {
      piece = await reader.read();
    } catch {
      return { wrong: "its bytes do not inflate" };
    }
    if (piece.done) break;
    if (filled + piece.value.length > length) return { wrong: "it inflates to more than it says" };
    raw.set(piece.value, filled);
    filled += piece.value.length;
  }
  return filled === length ? { raw } : { wrong: "it inflates to less than it says" };
}

function newWorker(): Worker | undefined {
  const text = `const inflate = ${inflate.toString()};
    onmessage = async ({ data: [number, stored, length] }) => {
      const answer = await inflate(stored, length);
      postMessage([number, answer], answer.raw ? [answer.raw.buffer] : []);
    };`;
  try {
    return new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  } catch {
    return undefined;
  }
}

/** Inflates a list of chunks, asked for in its order. */
export class Inflater {
  private readonly worker: Worker | undefined;
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private readonly answers: Promise<Answer>[] = [];

  constructor(private readonly chunks: Deflated[]) {
    // A few kilobytes are not worth a worker's start.
    if (chunks.length > AHEAD && typeof Worker !== "undefined") this.worker = newWorker();
    if (!this.worker) return;
    this.worker.onmessage = ({ data: [number, answer] }: MessageEvent<[number, Answer]>) => {
      this.waiting.get(number)?.(answer);
      this.waiting.delete(number);
    };
    // A worker that cannot be run: what it was asked is done here.
    this.worker.onerror = () => {
      for (const [number, answer] of this.waiting) {
        const { stored, raw } = this.chunks[number]!;
        void inflate(stored, raw).then(answer);
      }
      this.waiting.clear();
    };
  }

  async bytes(number: number): Promise<Uint8Array> {
    const most = this.worker ? AHEAD : 0;
    for (let k = this.answers.length; k <= number + most && k < this.chunks.length; k++) this.answers.push(this.ask(k));
    const answer = await this.answers[number]!;
    // Not kept: all of them together are more than the file.
    this.answers[number] = Promise.resolve({ wrong: "it was read before" });
    if ("wrong" in answer) throw new Damage(answer.wrong);
    return answer.raw;
  }

  private ask(number: number): Promise<Answer> {
    const { stored, raw } = this.chunks[number]!;
    if (!this.worker) return inflate(stored, raw);
    const copy = stored.slice();
    return new Promise((answer) => {
      this.waiting.set(number, answer);
      this.worker!.postMessage([number, copy, raw], [copy.buffer]);
    });
  }

  end(): void {
    this.worker?.terminate();
  }
}
