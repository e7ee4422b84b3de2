import { expect, it } from 'vitest'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { drain } from './drain.ts'

const withSessions = (count: number) => `# pxname,svname,scur\nwrites,FRONTEND,${count}\n\n`

/** How long a router drains, in ms, whose HAProxy answers the looks with these in turn; the last again and again. */
async function drained(...answers: readonly (string | Error)[]): Promise<number> {
  const world = virtualWorld()
  let look = 0
  const tell = async (): Promise<string> => {
    const answer = answers[Math.min(look++, answers.length - 1)] ?? ''
    if (answer instanceof Error) throw answer
    return answer
  }
  let endedMs: number | undefined
  const over = drain({ haproxy: { tell }, withinMs: 30_000, world, inform: () => undefined })
  void over.then(() => (endedMs = world.clock.monotonicMs()))
  while (endedMs === undefined) await world.advance(200)
  return endedMs
}

it('A router ends as soon as its last session is over', async () => {
  expect(await drained(withSessions(2), withSessions(1), withSessions(0))).toBe(3_400)
})

const part = '# pxname,svname,scur\nreading,FRONTEND,0\n'

it.each([new Error('nothing within 2000 ms'), 'Unknown command', '', part])(
  'A look that HAProxy answers with %s ends no session',
  async (silence) => {
    expect(await drained(withSessions(2), silence, withSessions(1), withSessions(0))).toBe(3_600)
    expect(await drained(silence)).toBe(30_000)
  },
)
