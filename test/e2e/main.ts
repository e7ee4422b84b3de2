import { join } from 'node:path'
import { describeError } from '#common/errors/errors.ts'
import { e2eUsage, e2eWordsOf } from '../support/e2e-arguments.ts'
import { onKubernetes } from './on-kubernetes.ts'

/** `npm run test:e2e`. What is said is checked before anything is started: a cluster takes minutes. */
const root = join(import.meta.dirname, '..', '..')
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')

async function main(): Promise<number> {
  const words = e2eWordsOf(process.argv.slice(2), root)
  if (words.what === 'usage') return (console.log(e2eUsage), 0)
  return onKubernetes(
    [process.execPath, vitest, 'run', '--root', root, '--project', 'e2e', '--reporter', 'verbose', ...words.filters],
    words,
  )
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(describeError(error))
  process.exitCode = 1
}
