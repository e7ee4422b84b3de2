import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeError } from '../../src/common/errors/errors.ts'
import { onKubernetes } from './on-kubernetes.ts'

/** `npm run test:e2e [-- smoke | WORDS OF A FILE'S NAME …] [--keep]` */
const root = join(import.meta.dirname, '..', '..')
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { keep: { type: 'boolean', default: false } },
  })
  const filters = positionals.map((word) => (word === 'smoke' ? 'test/e2e/smoke/' : word))
  process.exitCode = await onKubernetes(
    [process.execPath, vitest, 'run', '--root', root, '--project', 'e2e', '--reporter', 'verbose', ...filters],
    values,
  )
} catch (error) {
  console.error(describeError(error))
  process.exitCode = 1
}
