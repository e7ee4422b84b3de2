import { expect, it } from 'vitest'
import { topology } from '#cli/testing.ts'
import { whatIsMissing } from './wait-until-whole.ts'

it('What is missing of a cluster is how many instances there are, else the worst of what is wrong, else what is under way', () => {
  const problem = { code: 'ReplicaLagging', instance: 'demo-2', sentence: 'demo-2 is behind', since: '' }
  expect(whatIsMissing(topology(), 3)).toBeUndefined()
  expect(whatIsMissing(topology({ sentence: 'seeding demo-3' }), 4)?.sentence).toBe('3 of 4 instances: seeding demo-3')
  expect(whatIsMissing(topology({ whole: false, problems: [problem] }), 3)?.sentence).toBe('demo-2 is behind')
  const under = { whole: false, sentence: 'demo-2 is admitted' }
  expect(whatIsMissing(topology(under), 3)?.sentence).toBe('demo-2 is admitted')
})
