import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/** Every file of the product, without its tests. */
export function productSources(): Promise<readonly { readonly file: string; readonly text: string }[]> {
  const files = globSync(['{agents,failover,src,topology}/**/*.ts'], { cwd: root, exclude: ['**/*.test.ts'] })
  return Promise.all(files.map(async (file) => ({ file, text: await readFile(join(root, file), 'utf8') })))
}
