import { expect, it } from 'vitest'
import { productSources } from './product-sources.ts'

const nouns =
  'acknowledgements|addresses|agents|clusters|events|files|instances|managers|members|processes|replicas|sessions|steps|tables|times|transactions|volumes'
/** `${a} replicas`, where nothing looks at the number; `2 of ${b} replicas` is one of several all the same. */
const uncounted = new RegExp(`(?<!\\b(?:of|all|other) )\\$\\{([^{}]+)\\} (?:errant |received )?(?:${nouns})\\b`, 'g')

/** Numbers that are above one wherever the sentence is said. */
const alwaysSeveral = [
  'first?.ends',
  'half',
  'instances',
  'mostPending',
  'mostStatements',
  'mostTimes',
  'now',
  'refusal.times',
  'retryJitter',
  'updateAttempts',
  'victims.length',
  'wanted',
]

it('No sentence has one of several things: whoever counts looks at the number', async () => {
  const wrong: string[] = []
  const sources = await productSources()
  for (const { file, text } of sources)
    for (const [found, number = ''] of text.matchAll(uncounted))
      if (!alwaysSeveral.includes(number) && !isChosen(text, found)) wrong.push(`${file}: ${found}`)
  expect(sources.length).toBeGreaterThan(400)
  expect(wrong).toEqual([])
})

/** The other branch of a choice by the number. */
function isChosen(text: string, found: string): boolean {
  const at = text.indexOf(found)
  return /=== 1\b|< 2\b|> \w+\b/.test(text.slice(Math.max(0, at - 160), at))
}
