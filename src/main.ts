import { run } from './cli/run.ts'
import { processIo } from './cli/terminal/io.ts'

process.exitCode = await run(process.argv.slice(2), processIo())
// What is still open after a failure, a connection to somebody who is silent, must not keep a manager that has failed
// from being started again.
setTimeout(() => process.exit(), 2_000).unref()
