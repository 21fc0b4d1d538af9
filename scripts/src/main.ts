/** argv → command → exit code: the only place that ends the process. Called without any condition (see the build). */
import { entry, reportFault } from "./cli/entry.ts";

process.on("uncaughtException", (fault) => process.exit(reportFault(fault)));
const self = [process.execPath, ...process.execArgv, process.argv[1] ?? ""];
entry(process.argv.slice(2), self).then((code) => process.exit(code));
