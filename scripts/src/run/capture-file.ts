/** The private file that one captured stream is written to. A fault is remembered, never thrown: the child must drain. */
import * as fs from "node:fs";
import { constants } from "node:fs";
import { errorCode, PRIVATE_FILE, writeAll } from "../host/files.ts";

export interface CaptureFault {
  readonly path: string;
  /** errno name. */
  readonly code: string;
}

const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

export class CaptureFile {
  readonly #path: string | null;
  #fd: number | null = null;
  #fault: CaptureFault | null = null;

  /** A null path counts as a file that takes everything. */
  constructor(path: string | null) {
    this.#path = path;
  }

  get fault(): CaptureFault | null {
    return this.#fault;
  }

  write(bytes: Buffer): void {
    this.#attempt((path) => {
      this.#fd ??= fs.openSync(path, FLAGS, PRIVATE_FILE);
      writeAll(this.#fd, bytes);
    });
  }

  /** Also leaves an empty file when nothing was written, so that "no output" and "no capture" differ. */
  close(): void {
    this.#attempt((path) => {
      const fd = this.#fd ?? fs.openSync(path, FLAGS, PRIVATE_FILE);
      this.#fd = null;
      fs.closeSync(fd);
    });
    if (this.#fd !== null) this.#abandon(this.#fd);
  }

  #attempt(act: (path: string) => void): void {
    if (this.#path === null || this.#fault !== null) return;
    try {
      act(this.#path);
    } catch (error) {
      this.#fault = { path: this.#path, code: errorCode(error) ?? "UNKNOWN" };
    }
  }

  /** After a fault the descriptor only has to go; what closing it says adds nothing. */
  #abandon(fd: number): void {
    this.#fd = null;
    try {
      fs.closeSync(fd);
    } catch {}
  }
}
