/** All checks over files, in the order they run. */
import { blocks } from "./blocks.ts";
import { noCatalogue } from "./catalogue.ts";
import type { Check } from "./check.ts";
import { contracts, statedOnce } from "./contracts.ts";
import { doors, pureFolders } from "./doors.ts";
import { examples } from "./examples.ts";
import { importTable } from "./imports.ts";
import { links, reachable } from "./links.ts";
import { parity } from "./parity.ts";
import { oneSkill, payloadFiles, topLink } from "./payload.ts";
import { bodyTraps, frontmatter, namedCommands, sizes } from "./skill.ts";
import { fileLength, notBuilt, pastedCommands, productText } from "./sources.ts";
import { tierParity } from "./tier-parity.ts";

export const CHECKS: readonly Check[] = [
  importTable,
  doors,
  pureFolders,
  notBuilt,
  fileLength,
  pastedCommands,
  contracts,
  statedOnce,
  blocks,
  links,
  reachable,
  examples,
  namedCommands,
  parity,
  tierParity,
  frontmatter,
  bodyTraps,
  sizes,
  payloadFiles,
  oneSkill,
  topLink,
  productText,
  noCatalogue,
];
