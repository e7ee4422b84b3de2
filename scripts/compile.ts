/**
 * Fills Node's compile cache with the programs of pods, for the image. A process that finds its code there starts with
 * half of the processor time, and without the TypeScript compiler and its 25 MB. The cache holds for one user id and
 * one kind of processor: any other process goes without.
 */
import { flushCompileCache, getCompileCacheDir } from 'node:module'

await import('#cli/run.ts')
await import('#cli/terminal/io.ts')
await import('#cli/program.ts')
await import('#cli/commands/programs/manager-flags.ts')
await import('#manager/options/load.ts')
await import('#manager/kubernetes/run.ts')
await import('#cli/commands/programs/agent-config-file.ts')
await import('#agents/run.ts')
await import('#agents/lifecycle/run.ts')
await import('#agents/lifecycle/run-worker.ts')
await import('#router/kubernetes/run.ts')
await import('#object-store/s3/s3-store.ts')
flushCompileCache()
console.log(`compiled code is in ${getCompileCacheDir()}`)
