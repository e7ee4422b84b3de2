import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

/** What `scripts/demo` calls with which words, in a clone whose scripts only say so. */
function called(...words: readonly string[]): readonly string[] {
  const root = mkdtempSync(join(tmpdir(), 'regent-demo-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'scripts'))
  cpSync(join(import.meta.dirname, '..', '..', 'scripts', 'demo'), join(root, 'scripts', 'demo'))
  for (const name of ['setup', 'node24']) writeFileSync(join(root, 'scripts', name), `echo ${name} "$@"\n`)
  return spawnSync('sh', [join(root, 'scripts', 'demo'), ...words], { encoding: 'utf8' })
    .stdout.replaceAll(`${root}/`, '')
    .trim()
    .split('\n')
}

test('the demo on Kubernetes fetches no MySQL, the one on this machine does', () => {
  expect(called('--keep', '--kube')).toEqual(['setup --packages-only', 'node24 test/demo/main.ts --keep --kube'])
  expect(called('--keep')).toEqual(['setup', 'node24 test/demo/main.ts --keep'])
})
