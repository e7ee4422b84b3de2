import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { commandLinePage } from './docs/command-line-page.ts'
import { configurationPage } from './docs/configuration-page.ts'
import { errorsPage } from './docs/errors-page.ts'

/**
 * Writes the pages of docs/ that are made from the code. With --check it writes nothing, and fails with a sentence when a
 * page is not what the code says.
 */
const folder = join(import.meta.dirname, '..', 'docs')

const pages: Readonly<Record<string, () => string | Promise<string>>> = {
  'cli.md': commandLinePage,
  'configuration.md': configurationPage,
  'errors.md': errorsPage,
}

async function differing(): Promise<readonly string[]> {
  const different: string[] = []
  for (const [name, render] of Object.entries(pages)) {
    const written = await readFile(join(folder, name), 'utf8').catch(() => '')
    if (written !== (await render())) different.push(`docs/${name}`)
  }
  return different
}

async function writeAll(): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const [name, render] of Object.entries(pages)) await writeFile(join(folder, name), await render())
}

if (process.argv.includes('--check')) {
  const different = await differing()
  if (different.length > 0) {
    console.error(`${different.join(' and ')} ${different.length === 1 ? 'is' : 'are'} not what the code says; "npm run docs" writes the pages again.`)
    process.exitCode = 1
  }
} else {
  await writeAll()
  console.log(`wrote ${Object.keys(pages).map((name) => `docs/${name}`).join(', ')}`)
}
