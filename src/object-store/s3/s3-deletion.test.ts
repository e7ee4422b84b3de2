import { expect, it } from 'vitest'
import { bucketThatAnswers } from './testing-bucket.ts'

interface Said {
  readonly status: number
  readonly body?: string
}

/** A store by what it says to a request for many objects, and to a request for one. */
async function aStore(many: Said, one: (key: string) => Said = () => ({ status: 204 })) {
  const asked: string[] = []
  const store = await bucketThatAnswers(({ method = '', url = '' }, answer) => {
    const key = new URL(url, 'http://store').pathname.split('/').slice(2).join('/')
    const isOne = method === 'DELETE'
    asked.push(isOne ? key : 'many')
    const { status, body = '' } = isOne ? one(key) : many
    answer.writeHead(status, { 'content-type': 'application/xml' }).end(body)
  }, 'p')
  return { store, asked }
}

const refusal = (code: string, message = '') => `<Error><Code>${code}</Code><Message>${message}</Message></Error>`
const result = (rest: string) => ({ status: 200, body: `<DeleteResult>${rest}</DeleteResult>` })
const deleted = (key: string) => `<Deleted><Key>p/${key}</Key></Deleted>`

it.each<[string, Said]>([
  ['NotImplemented', { status: 501, body: refusal('NotImplemented') }],
  ['MethodNotAllowed', { status: 405, body: refusal('MethodNotAllowed') }],
  ['a page of its own', { status: 405, body: 'not allowed' }],
  ['InvalidArgument', { status: 400, body: refusal('InvalidArgument', 'Invalid argument.') }],
  ['MissingContentMD5', { status: 400, body: refusal('MissingContentMD5') }],
  ['InvalidRequest', { status: 400, body: refusal('InvalidRequest', 'Missing required header: Content-MD5.') }],
])('A server that refuses the call for many objects (%s) is asked for one after the other', async (_, many) => {
  const { store, asked } = await aStore(many)
  expect(await store.delete(['a', 'b/c'])).toEqual([])
  expect(await store.delete(['d'])).toEqual([])
  // A server that does not know the call is asked for it once.
  expect(asked.toSorted()).toEqual(['many', 'p/a', 'p/b/c', 'p/d'])
})

it('An object that an answer for many leaves out is deleted by a request of its own', async () => {
  const { store, asked } = await aStore(result(deleted('a')))
  expect(await store.delete(['a', 'b'])).toEqual([])
  expect(asked).toEqual(['many', 'p/b'])
})

it('An object that an answer for many leaves out, and that stays, is no deleted one', async () => {
  const { store } = await aStore(result(deleted('a')), () => ({ status: 403, body: refusal('AccessDenied') }))
  await expect(store.delete(['a', 'b'])).rejects.toThrow('object b was not deleted: the credentials do not allow that')
})

it('Of one request for many each object has its own answer', async () => {
  const locked = '<Error><Key>p/b</Key><Code>AccessDenied</Code><Message>by Object Lock</Message></Error>'
  const absent = '<Error><Key>p/c</Key><Code>NoSuchKey</Code></Error>'
  const { store, asked } = await aStore(result(`${deleted('a')}${locked}${absent}`))
  expect(await store.delete(['a', 'b', 'c'])).toEqual(['b'])
  expect(asked).toEqual(['many'])
})

const unknown: Said = { status: 501, body: refusal('NotImplemented') }

it('Of requests for one object each answer is judged: deleted, absent, locked', async () => {
  const answers: Readonly<Record<string, Said>> = {
    'p/b': { status: 404, body: refusal('NoSuchKey') },
    'p/c': { status: 403, body: refusal('AccessDenied', 'Access Denied because object protected by object lock.') },
    'p/d': { status: 400, body: refusal('ObjectLocked') },
  }
  const { store } = await aStore(unknown, (key) => answers[key] ?? { status: 204 })
  expect(await store.delete(['a', 'b', 'c', 'd'])).toEqual(['c', 'd'])
})

it.each<[string, Said, string]>([
  ['a page of somebody else', { status: 200, body: '<html>Sign in</html>' }, 'what answers is no S3 server'],
  ['another 404', { status: 404, body: refusal('NoSuchBucket') }, 'there is no bucket of that name'],
  ['a refusal', { status: 403, body: refusal('AccessDenied') }, 'the credentials do not allow that'],
  ['one that does not know that call either', unknown, 'the store said'],
])('After a request for one object %s is no deletion', async (_, said, why) => {
  const { store } = await aStore(unknown, () => said)
  await expect(store.delete(['a'])).rejects.toThrow(`object a was not deleted: ${why}`)
})
