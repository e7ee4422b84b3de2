import { expect, it } from 'vitest'
import { productSources } from './product-sources.ts'

/** Words that stand for a thing which a comment has not named: a sentence cannot begin with them. */
const nameless = /^(?:It|One|That|Those|These|This|Whoever|Who|Of)\s/

/** Comments that stand alone, each as one line of text: a block, or lines with `//` one below the other. */
function commentsIn(text: string): readonly string[] {
  const found = text.matchAll(/^[ \t]*(?:\/\*\*?\s([^]*?)\*\/|(\/\/ .*(?:\n[ \t]*\/\/ .*)*))/gm)
  return [...found].map(([, block, lines]) =>
    (block ?? lines ?? '')
      .replaceAll(/\n[ \t]*\*?|(?:^|\n)[ \t]*\/\/ /g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )
}

const withoutSubject = (text: string): readonly string[] => commentsIn(text).filter((comment) => nameless.test(comment))

it('A comment of the product begins with the thing that it speaks of', async () => {
  const sources = await productSources()
  const wrong = sources.flatMap(({ file, text }) => withoutSubject(text).map((comment) => `${file}: ${comment}`))
  expect(sources.flatMap(({ text }) => commentsIn(text)).length).toBeGreaterThan(5_000)
  expect(wrong).toEqual([])
})

it('The word that a comment begins with is looked at, and not that of a further line', () => {
  expect(withoutSubject('/** One that waits. */\n  // It waits,\n  // That is all.\n')).toHaveLength(2)
  expect(withoutSubject('/**\n * The primary.\n * It opens.\n */\n// A replica\n// One more line.\n')).toEqual([])
  expect(withoutSubject('const it = "// It is no comment" // One behind code\n')).toEqual([])
})
