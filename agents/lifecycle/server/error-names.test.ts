import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bash, silentLog, testingActions } from '../testing.ts'
import { errorNames, type ActionResponse, type ErrorName } from '../wire/calls.ts'
import type { Action } from '../wire/definitions.ts'
import { createLifecycleServer } from './create-server.ts'
import { listenOnSocket } from './listen.ts'

/** What clients call a name that they do not know. No agent answers so. */
const wordOfClients: ErrorName = 'unknown'

const actions: readonly Action[] = [
  bash('fails', 'echo -n why >&2; exit 3'),
  bash('slow', 'sleep 60 & wait', { timeoutSeconds: 1 }),
  bash('later', 'sleep 60 & wait', { nonBlocking: true }),
  bash('reconfigure', 'true'),
  { name: 'templated', http: { port: '1', body: '{{ upper .NAME }}' } },
  { name: 'broken' },
]
const broken = { name: 'broken', run: () => Promise.reject(new Error('a mistake of Regent’s')) }

/** Bodies that are sent one after the other; the answer to the last has the name. */
const cases: readonly (readonly [ErrorName, readonly [...string[], string], string | RegExp])[] = [
  ['notDefined', ['{"action":"nobody"}'], 'nobody is not defined: notDefined'],
  ['badRequest', ['{"action":'], /^unmarshal action request error: .*: badRequest$/],
  ['notImplemented', ['{"action":"templated","parameters":{"NAME":"x"}}'], /upper \.NAME.*: notImplemented$/],
  [
    'preconditionFailed',
    ['{"action":"reconfigure","parameters":{"KB_CONFIG_FILES_CREATED":"/does/not/exist"}}'],
    'file /does/not/exist is not there yet: preconditionFailed',
  ],
  ['timedOut', ['{"action":"slow"}'], 'timedOut'],
  ['failed', ['{"action":"fails"}'], 'exit code: 3, stderr: why: failed'],
  ['inProgress', ['{"action":"slow","nonBlocking":true}'], 'inProgress'],
  ['busy', ['{"action":"later"}', '{"action":"later","parameters":{"A":"1"}}'], 'busy'],
  ['internalError', ['{"action":"broken"}'], 'a mistake of Regent’s: internalError'],
]

describe('an error name over HTTP', () => {
  let folder: string
  let socketPath: string
  let close: () => Promise<void>

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lifecycle-'))
    const { desk, kill } = testingActions(actions, { builtIn: new Map([[broken.name, broken]]) })
    const call = desk.call.bind(desk)
    const log = silentLog()
    const app = await createLifecycleServer({ call, token: undefined, maxConcurrency: 32, logsCalls: false, log })
    socketPath = await listenOnSocket(app.server, folder)
    close = async () => {
      kill()
      await app.close()
    }
  })

  afterAll(async () => {
    await close()
    await rm(folder, { recursive: true })
  })

  function post(body: string): Promise<{ readonly status: number | undefined; readonly answer: ActionResponse }> {
    return new Promise((resolve, reject) => {
      const sent = request({ socketPath, path: '/v1.0/action', method: 'POST', agent: false }, (incoming) => {
        text(incoming).then(
          (read) => resolve({ status: incoming.statusCode, answer: JSON.parse(read) as ActionResponse }),
          reject,
        )
      })
      sent.on('error', reject).end(body)
    })
  }

  it.each(cases)('is %s', async (name, bodies, message) => {
    const answers = []
    for (const body of bodies) answers.push(await post(body))
    const said: unknown = typeof message === 'string' ? message : expect.stringMatching(message)
    expect(answers.at(-1)).toEqual({ status: 200, answer: { error: name, message: said } })
  })

  it('is any that an agent may answer with', () => {
    const reached = [...cases.map(([name]) => name), wordOfClients]
    expect(reached.toSorted()).toEqual(errorNames.toSorted())
  })
})
