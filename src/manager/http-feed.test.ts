import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createHttpFeed } from './http-feed.ts'

test('an agent that is killed in the middle of its stream is lost, and asked again', async () => {
  let asked = 0
  const server = createServer((request, response) => {
    asked += 1
    response.writeHead(200).write('{"version":1,')
    setTimeout(() => request.socket.resetAndDestroy(), 5)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const losses: string[] = []
  const twice = new Promise<void>((resolve) => {
    const stop = createHttpFeed({ token: 'token' }).follow(`127.0.0.1:${(server.address() as AddressInfo).port}`, {
      heard: () => undefined,
      alive: () => undefined,
      lost: (why) => void (losses.push(why) === 2 && resolve()),
    })
    onTestFinished(stop)
  })
  await twice
  expect(asked).toBe(2)
  expect(losses).toHaveLength(2)
})
