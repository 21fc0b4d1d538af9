import { notBuilt } from "../not-built.ts";

export const handler = notBuilt("run");
