import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { mutations } from './list/all.ts'
import { readResults } from './results.ts'
import { root, without } from './tree.ts'

describe('The list of mutations', () => {
  it('names each once, and takes at least sixty rules away', () => {
    expect(new Set(mutations.map(({ id }) => id)).size).toBe(mutations.length)
    expect(mutations.length).toBeGreaterThanOrEqual(60)
  })

  it.each(mutations)('finds the text of $id exactly once', async (mutation) => {
    const text = await readFile(join(root, mutation.file), 'utf8')
    expect(without(mutation, text)).not.toBe(text)
  })

  it('has for each what showed the difference', async () => {
    const results = await readResults()
    expect(mutations.filter(({ id }) => results[id] === undefined).map(({ id }) => id)).toEqual([])
  })

  it('names headings and paragraphs that docs/why/safety.md has', async () => {
    const page = await readFile(join(root, 'docs/why/safety.md'), 'utf8')
    const missing = mutations.filter(
      ({ heading }) => !page.includes(`\n## ${heading}\n`) && !page.includes(`\n**${heading}.**`),
    )
    expect(missing.map(({ id }) => id)).toEqual([])
  })
})
