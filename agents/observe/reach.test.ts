import { expect, it } from 'vitest'
import type { FarConfig } from '../instance/config.ts'
import { reachOf } from './observation.ts'

const far = { agentHost: '127.24.1.1', user: 'keeper' } as FarConfig
const ssh = { user: 'mysql' } as FarConfig['ssh'] & object

it('An agent says how it reaches a host, and where nothing starts mysqld there again', () => {
  expect(reachOf({})).toEqual({})
  expect(reachOf({ far: { ...far, ssh, start: 'systemctl start mysql' } })).toEqual({ reachedBy: 'ssh' })
  expect(reachOf({ far: { ...far, ssh } })).toEqual({ reachedBy: 'ssh', startsAgain: false })
  expect(reachOf({ far: { ...far, start: 'systemctl start mysql' } })).toEqual({ reachedBy: 'sql', startsAgain: false })
})
