import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const sources = globSync(['{agents,failover,src,topology}/**/*.ts'], { cwd: root, exclude: ['**/*.test.ts'] })

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
  for (const file of sources) {
    const text = await readFile(join(root, file), 'utf8')
    for (const [found, number = ''] of text.matchAll(uncounted))
      if (!alwaysSeveral.includes(number) && !isChosen(text, found)) wrong.push(`${file}: ${found}`)
  }
  expect(sources.length).toBeGreaterThan(400)
  expect(wrong).toEqual([])
})

/** The other branch of a choice by the number. */
function isChosen(text: string, found: string): boolean {
  const at = text.indexOf(found)
  return /=== 1\b|< 2\b|> \w+\b/.test(text.slice(Math.max(0, at - 160), at))
}
