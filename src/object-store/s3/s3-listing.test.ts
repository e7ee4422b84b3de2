import { expect, it } from 'vitest'
import { bucketThatAnswers } from './testing-bucket.ts'

/** A store whose server says the same to each request, and at most ten times. */
async function aStoreThatSays(body: string) {
  let asked = 0
  const store = await bucketThatAnswers((_, answer) => {
    asked += 1
    answer.writeHead(asked > 10 ? 400 : 200, { 'content-type': 'application/xml' }).end(body)
  })
  return { store, asked: () => asked }
}

async function keysOf(store: Awaited<ReturnType<typeof aStoreThatSays>>['store']): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { key } of store.list('')) keys.push(key)
  return keys
}

const one = '<Contents><Key>a</Key><Size>1</Size></Contents>'
const page = (rest: string) => `<ListBucketResult>${one}${rest}</ListBucketResult>`

it('A page that is not the last and leads nowhere is no whole list', async () => {
  const cut = await aStoreThatSays(page('<IsTruncated>true</IsTruncated>'))
  await expect(keysOf(cut.store)).rejects.toThrow('s3://bucket: objects … cannot be listed: the store cut its list off')
  const whole = await aStoreThatSays(page('<IsTruncated>false</IsTruncated>'))
  expect(await keysOf(whole.store)).toEqual(['a'])
})

it('A page that leads to itself is no list without an end', async () => {
  const listed = await aStoreThatSays(
    page('<IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>'),
  )
  await expect(keysOf(listed.store)).rejects.toThrow('the store cut its list off')
  expect(listed.asked()).toBe(2)
  const uploads = await aStoreThatSays(
    '<ListMultipartUploadsResult><IsTruncated>true</IsTruncated></ListMultipartUploadsResult>',
  )
  await expect(uploads.store.dropUnfinished('', 0)).rejects.toThrow('the store cut its list off')
  expect(uploads.asked()).toBe(1)
})

it.each(['', '<html><h1>Sign in</h1></html>', '<ListBucketResult></ListBucketResult>'])(
  'What is no list of S3 is no empty store, and no end of a list: %j',
  async (body) => {
    const { store } = await aStoreThatSays(body)
    await expect(keysOf(store)).rejects.toThrow('objects … cannot be listed: what answers is no S3 server')
    await expect(store.dropUnfinished('', 0)).rejects.toThrow('what answers is no S3 server')
  },
)

it('An object counts as stored where the server names what it stored, and not by a page of somebody else', async () => {
  const { store } = await aStoreThatSays('<html><h1>Sign in</h1></html>')
  async function* once() {
    yield Buffer.from('content')
  }
  await expect(store.put('a', once())).rejects.toThrow('object a was not stored: what answers is no S3 server')
  await expect(store.putIfAbsent('a', Buffer.from('content'))).rejects.toThrow('what answers is no S3 server')
})

it.each(['', '<html><h1>Sign in</h1></html>', '<DeleteResult></DeleteResult>'])(
  'An object counts as deleted where the server names what it deleted, and not by a page of somebody else: %j',
  async (body) => {
    const { store } = await aStoreThatSays(body)
    await expect(store.delete(['a'])).rejects.toThrow('object a was not deleted: what answers is no S3 server')
  },
)

it('An object that the server names is deleted', async () => {
  const { store } = await aStoreThatSays('<DeleteResult><Deleted><Key>a</Key></Deleted></DeleteResult>')
  expect(await store.delete(['a'])).toEqual([])
})
