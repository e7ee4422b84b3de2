import { expect, it } from 'vitest'
import { StartLine } from './start-line.ts'

it('Nobody goes on before all have arrived, and whoever comes later is not held', async () => {
  const line = new StartLine()
  const { signal } = new AbortController()
  const gone: string[] = []
  const arrive = (who: string) => line.arrive('shops', signal).then(() => gone.push(who))
  line.join('shops')
  line.join('shops')
  line.join('others')
  const first = arrive('first')
  await new Promise(setImmediate)
  expect(gone).toEqual([])
  await Promise.all([first, arrive('second')])
  expect(gone.toSorted()).toEqual(['first', 'second'])
  line.join('shops')
  await arrive('third')
  expect(gone).toHaveLength(3)
})

it('Whoever is told to end waits for nobody', async () => {
  const line = new StartLine()
  const stop = new AbortController()
  line.join('shops')
  line.join('shops')
  const arrived = line.arrive('shops', stop.signal)
  stop.abort()
  await arrived
  await line.arrive('shops', stop.signal)
})
