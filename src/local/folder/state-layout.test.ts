import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { stateHome } from './state-layout.ts'

const usual = join(homedir(), '.local', 'state', 'regent')

test.each([
  [{}, usual],
  [{ REGENT_HOME: '/srv/clusters/' }, '/srv/clusters'],
  [{ REGENT_HOME: 'clusters' }, resolve('clusters')],
  [{ XDG_STATE_HOME: '/var/state' }, '/var/state/regent'],
  [{ XDG_STATE_HOME: 'state' }, usual],
])('with %j clusters lie in the absolute folder %s, also for what runs in the background', (env, folder) => {
  expect(stateHome(env)).toBe(folder)
})
