import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

const shown = 5

/** Says at the end which files took the longest: where a run may become shorter. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const timed = modules.map((module) => ({
      file: relative(process.cwd(), module.moduleId),
      ms: module.diagnostic().duration,
    }))
    console.log('The slowest files:')
    for (const { file, ms } of timed.toSorted((a, b) => b.ms - a.ms).slice(0, shown))
      console.log(`${(ms / 1_000).toFixed(1).padStart(8)} s  ${file}`)
  }
}
