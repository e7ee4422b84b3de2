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

  it('names headings and paragraphs that the pages of safety have', async () => {
    const pages = ['docs/why/safety.md', 'docs/why/safety-of-modes.md'].map((page) =>
      readFile(join(root, page), 'utf8'),
    )
    const page = (await Promise.all(pages)).join('\n')
    const missing = mutations.filter(
      ({ heading }) => !page.includes(`\n## ${heading}\n`) && !page.includes(`\n**${heading}.**`),
    )
    expect(missing.map(({ id }) => id)).toEqual([])
  })
})
