import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { createServer } from '#common/http/node-http.ts'
import { endStreamsWhenBlind } from './silence.ts'

it('An agent that sees nothing ends what it streams, so that nobody takes its last word for the newest', async () => {
  let why: RegentError | null = null
  const server = createServer((_request, response) => void response.writeHead(200).write('a word'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const log = createLogger({ level: 'silent', name: 'test' })
  const watching = endStreamsWhenBlind(server, { world: realWorld, log, whyBlind: () => why })
  onTestFinished(() => {
    watching.cancel()
    server.closeAllConnections()
    server.close()
  })
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  const reader = answer.body?.getReader()
  expect((await reader?.read())?.done).toBe(false)
  const next = reader?.read().then(
    () => 'more',
    () => 'ended',
  )
  why = new RegentError('REGENT_SSH_DOWN', say`the connection was lost`)
  expect(await next).toBe('ended')
})
