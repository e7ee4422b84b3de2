import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fileWith, temporaryFolder } from '#local/testing.ts'
import { patienceMs } from '#test/support/patience.ts'
import { ApiClient } from './api-client.ts'
import { ApiReader } from './api-reader.ts'
import { httpServer } from '../testing.ts'

async function clientOf(url: string): Promise<ApiClient> {
  const tokenFile = join(await temporaryFolder(), 'token')
  await writeFile(tokenFile, 'abc')
  return ApiClient.open({ url, tokenFile })
}

describe('the client of the API', () => {
  test('gives up on a manager that does not answer in time', async () => {
    const client = await clientOf(await httpServer(() => null))
    await expect(client.get('/clusters', 50)).rejects.toMatchObject({ code: 'REGENT_TIMED_OUT' })
  })

  test('takes a stream that says nothing any more, not even that it lives, for lost', async () => {
    const server = createServer((_, response) => void response.write(': connected\n\ndata: 1\n\n'))
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => (server.closeAllConnections(), void server.close()))
    const client = await clientOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const seen: string[] = []
    const watching = (async () => {
      for await (const event of client.events('/events', AbortSignal.timeout(patienceMs), 200)) seen.push(event)
    })()
    await expect(watching).rejects.toMatchObject({
      code: 'REGENT_TIMED_OUT',
      message: expect.stringContaining('has said nothing for 0.2 s') as string,
    })
    expect(seen).toEqual(['1'])
  })

  test('keeps the code and words of a refusal', async () => {
    const client = await clientOf(
      await httpServer(() => ({ status: 401, body: '{"code":"REGENT_UNAUTHORIZED","detail":"no such token"}' })),
    )
    await expect(client.get('/clusters')).rejects.toMatchObject({
      code: 'REGENT_UNAUTHORIZED',
      message: 'no such token',
    })
  })

  test('takes a code that it does not know for a refusal, and names it', async () => {
    const client = await clientOf(
      await httpServer(() => ({ status: 418, body: '{"code":"REGENT_TEAPOT","detail":"short and stout"}' })),
    )
    await expect(client.get('/clusters')).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
      message: 'short and stout (REGENT_TEAPOT)',
    })
  })

  test.each([
    [{ status: 200, body: '<html>' }],
    [{ status: 502, body: 'Bad Gateway' }],
    [{ status: 404, body: '{"message":"nope"}' }],
    [{ status: 301, body: '' }],
  ])('says that what answers is no manager (%j)', async (answer) => {
    const client = await clientOf(await httpServer(() => answer))
    await expect(client.get('/clusters')).rejects.toMatchObject({ code: 'REGENT_API_UNREACHABLE' })
  })

  test('lists the clusters where one must be named', async () => {
    const client = await clientOf(await httpServer(() => ({ status: 200, body: '[{"name":"a"},{"name":"b"}]' })))
    await expect(client.clusterName(undefined)).rejects.toThrow('name one of them: a, b')
    expect(await client.clusterName('c')).toBe('c')
  })

  test.each([
    ['an answer', async (reader: ApiReader) => reader.get('/clusters')],
    ['a refusal', async (reader: ApiReader) => reader.get('/refused')],
    ['an event', async (reader: ApiReader) => reader.events('/events', AbortSignal.timeout(patienceMs)).next()],
  ])('takes no more of %s than its memory is meant for', async (_, ask) => {
    const url = await httpServer(({ path }) => ({
      status: path.endsWith('refused') ? 500 : 200,
      body: `data: ${'1'.repeat(100)}`,
    }))
    const route = { url, token: 'abc', fetch }
    await expect(ask(new ApiReader(route, 100))).rejects.toMatchObject({
      code: 'REGENT_API_UNREACHABLE',
      message: expect.stringContaining('longer than 100 characters') as string,
    })
  })

  test('gives the data of server-sent events, one by one', async () => {
    const body = 'event: state\ndata: {"a":1}\n\n: comment\n\nevent: state\ndata: {"a":2}\n\n'
    const client = await clientOf(await httpServer(() => ({ status: 200, body })))
    const seen: string[] = []
    for await (const data of client.events('/clusters/a/events', AbortSignal.timeout(1000))) seen.push(data)
    expect(seen).toEqual(['{"a":1}', '{"a":2}'])
  })

  test.each([
    ['empty', ''],
    ['more than one word', 'a b'],
    ['not UTF-8', Uint8Array.of(0xff)],
  ])('refuses a token file that is %s without showing its content', async (_what, content) => {
    await expect(
      ApiClient.open({ url: 'http://127.0.0.1:1', tokenFile: await fileWith(content) }),
    ).rejects.toMatchObject({ code: 'REGENT_BAD_FILE' })
  })
})
