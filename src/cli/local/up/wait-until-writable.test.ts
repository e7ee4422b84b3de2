import { expect, it } from 'vitest'
import { processIo } from '#cli/terminal/io.ts'
import { teller, toldOf } from './wait-until-writable.ts'

it('A sentence is told again once its news is another, not once its figures are', () => {
  const lines: string[] = []
  const tell = teller({ ...processIo(), note: (line) => lines.push(line.replace(/^ *[\d.]+ s {2}/, '')) })
  tell({ sentence: '1 of 9 MB are here', news: '# of # MB are here' })
  tell({ sentence: '8 of 9 MB are here', news: '# of # MB are here' })
  tell({ sentence: 'demo-1 starts' })
  tell({ sentence: 'demo-2 starts' })
  expect(lines).toEqual(['1 of 9 MB are here', 'demo-1 starts', 'demo-2 starts'])
})

it('A problem is news by what is wrong and where', () => {
  const problem = { code: 'MysqldDoesNotStart', instance: 'demo-1', since: '' }
  const [first, later] = ['3', '4'].map((times) => toldOf({ ...problem, sentence: `ended ${times} times` }))
  expect(first?.news).toBe(later?.news)
  expect(toldOf({ ...problem, instance: 'demo-2', sentence: 'ended 3 times' }).news).not.toBe(first?.news)
})
