import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take the longest. A long file that begins last keeps one processor idle until the file ends. */
const longest = [
  'test/servers/short/group.test.ts',
  'test/servers/short/semisync.test.ts',
  'test/servers/short/local-platform.test.ts',
  'test/servers/short/asked-for.test.ts',
  'test/kube/informer.test.ts',
  'test/kube/reconcile.test.ts',
]

const rank = (file: TestSpecification): number => {
  const listed = longest.indexOf(relative(process.cwd(), file.moduleId))
  return listed === -1 ? longest.length : listed
}

/** Vitest's own order (larger files first), behind the files that are known to take long. Groups of projects stay. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}
