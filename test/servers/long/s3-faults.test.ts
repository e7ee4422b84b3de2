import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { contentOf, inChunks, listed, sumOf } from '#object-store/contract.ts'
import type { ObjectStore } from '#object-store/object-store.ts'
import { BucketStage } from '../../support/bucket-stage.ts'
import { FaultyS3, type S3Fault, type SeenRequest } from '../../support/faulty-s3.ts'
import { FlippingProxy } from '../../support/flipping-proxy.ts'
import { freePort } from '../../support/free-port.ts'
import { S3Server, usualLogin } from '../../support/s3-server.ts'
import { findVersitygw } from '../../support/versitygw.ts'

const program = await findVersitygw()
/** Three parts of 8 MiB and less. */
const large = randomBytes(16_900_000)
const small = randomBytes(100_000)

describe.skipIf(program === undefined)('A bucket of S3 behind a network that fails', () => {
  let server: S3Server
  let stage: BucketStage
  let proxy: FaultyS3
  let bucket: string
  let store: ObjectStore
  /** The same bucket, without the proxy. */
  let direct: ObjectStore
  let buckets = 0

  beforeAll(async () => {
    server = await S3Server.start(program ?? '')
    stage = await BucketStage.make()
  })

  beforeEach(async () => {
    proxy = await FaultyS3.start(server.port)
    bucket = await server.makeBucket(`faults-${(buckets += 1)}`)
    store = await stage.open(bucket, { endpoint: proxy.endpoint })
    direct = await stage.open(bucket, { endpoint: server.endpoint })
  })

  afterEach(() => proxy?.end())

  afterAll(async () => {
    await stage?.end()
    await server?.end()
  })

  const impatient = () => stage.open(bucket, { endpoint: proxy.endpoint }, { budgetMs: 300, silenceMs: 2_000 })
  const is =
    (operation: SeenRequest['operation'], part = 0) =>
    (request: SeenRequest) =>
      request.operation === operation && request.part === part
  const failsWith = (promise: Promise<unknown>, message: RegExp) =>
    expect(promise).rejects.toMatchObject({
      code: 'REGENT_BACKUP_STORE',
      message: expect.stringMatching(message) as string,
    })
  const put = (content: Buffer, to = store) => to.put('a', inChunks(content))
  /** The last part, once the server has the others: a part on its way could come behind the end of its upload. */
  const isLastPart = async (request: SeenRequest) => {
    if (!is('part', 3)(request)) return false
    for (const part of [1, 2]) await expect.poll(() => proxy.answered.some(is('part', part))).toBe(true)
    return true
  }
  /** Neither an object nor parts of one. */
  const expectNothing = async () => {
    expect(await listed(direct, '')).toEqual([])
    expect(await direct.dropUnfinished('', Date.now() + 86_400_000)).toBe(0)
  }

  describe('puts', () => {
    const passing: readonly S3Fault[] = [
      { kind: 'answer', status: 500, code: 'InternalError' },
      { kind: 'answer', status: 503, code: 'SlowDown' },
      { kind: 'html', status: 502 },
      { kind: 'cut', where: 'request' },
      { kind: 'cut', where: 'before-answer' },
      { kind: 'cut', where: 'answer' },
      { kind: 'flip', where: 'request' },
      { kind: 'answer', status: 403, code: 'RequestTimeTooSkewed' },
    ]

    it.each(passing)('an object in each of its parts again after %j', async (fault) => {
      const failed = new Set<string>()
      proxy.misfortune = ({ operation, part }) => {
        if (failed.has(`${operation} ${part}`)) return undefined
        failed.add(`${operation} ${part}`)
        return fault
      }
      await put(large)
      await store.put('s', inChunks(small))
      expect([...failed].toSorted()).toEqual(['complete 0', 'create 0', 'part 1', 'part 2', 'part 3', 'put 0'])
      expect(sumOf(await contentOf(direct, 'a'))).toBe(sumOf(large))
      expect(sumOf(await contentOf(direct, 's'))).toBe(sumOf(small))
    })

    it.each(passing)('an absent object once, and knows its own, after %j', async (fault) => {
      proxy.next(fault, is('put'))
      expect(await store.putIfAbsent('a', small)).toBe(true)
      proxy.next(fault, is('put'))
      expect(await store.putIfAbsent('a', Buffer.from('other'))).toBe(false)
      expect(sumOf(await contentOf(direct, 'a'))).toBe(sumOf(small))
    })

    it('no absent object into a store that would overwrite one that is there', async () => {
      let puts = 0
      proxy.misfortune = ({ operation }) => {
        if (operation !== 'put') return undefined
        puts += 1
        return puts === 2 ? { kind: 'html', status: 200, tag: '"1"' } : undefined
      }
      await failsWith(store.putIfAbsent('a', small), /the store overwrites what must stay \(it ignores If-None-Match\)/)
      puts = 2
      expect(await store.putIfAbsent('b', small)).toBe(true)
      expect(await store.putIfAbsent('c', small)).toBe(true)
      expect(puts).toBe(5)
    })

    it('again where a part stands still', async () => {
      const brief = await stage.open(bucket, { endpoint: proxy.endpoint }, { silenceMs: 1_500 })
      proxy.next({ kind: 'stall', where: 'before-answer' }, is('part', 2))
      await put(large, brief)
      expect(sumOf(await contentOf(direct, 'a'))).toBe(sumOf(large))
    })

    it('nothing, and leaves no parts, where the store stays away, fails or is full', async () => {
      const cases: readonly (readonly [S3Fault, RegExp])[] = [
        [
          { kind: 'answer', status: 500, code: 'InternalError' },
          /part 3: the store failed within \(InternalError, HTTP 500\)/,
        ],
        [{ kind: 'html', status: 502 }, /part 3: the store failed within \(.*HTTP 502\)/],
        [{ kind: 'cut', where: 'request' }, /part 3: the connection to the endpoint broke \((ECONNRESET|EPIPE)\)/],
        [{ kind: 'flip', where: 'request' }, /part 3: what arrived at the store is not what was sent/],
        [{ kind: 'stall', where: 'before-answer' }, /part 3: the endpoint does not answer.*\(TimeoutError\)/],
        [{ kind: 'answer', status: 507, code: 'XMinioStorageFull' }, /part 3: the store is full: give it more space/],
        [{ kind: 'answer', status: 403, code: 'QuotaExceeded' }, /part 3: the store is full: give it more space/],
        [
          { kind: 'answer', status: 403, code: 'RequestTimeTooSkewed' },
          /part 3: the clocks of this machine and of the store/,
        ],
        [{ kind: 'answer', status: 403, code: 'AccessDenied' }, /part 3: the credentials do not allow that/],
        [
          { kind: 'answer', status: 400, code: 'SomethingNew' },
          /part 3: the store said: so it is \(SomethingNew, HTTP 400\)/,
        ],
      ]
      for (const [fault, message] of cases) {
        proxy.answered.length = 0
        proxy.misfortune = async (request) => ((await isLastPart(request)) ? fault : undefined)
        await failsWith(put(large, await impatient()), message)
        await expectNothing()
      }
    })

    it('nothing where the store confirms a part that it does not know so', async () => {
      proxy.next({ kind: 'header', name: 'etag', value: '"00000000000000000000000000000000"' }, is('part', 2))
      await failsWith(
        put(large),
        /object a was not stored: the store does not know a part as the store itself confirmed/,
      )
      await expectNothing()
    })

    it('nothing where somebody gave up the upload in the middle', async () => {
      let isDone = false
      proxy.misfortune = async (request) => {
        if ((await isLastPart(request)) && !isDone) {
          isDone = true
          await direct.dropUnfinished('', Date.now() + 86_400_000)
        }
        return undefined
      }
      await failsWith(put(large), /the store gave up the upload: somebody else ended it \(NoSuchUpload/)
      await expectNothing()
    })

    it('nothing where the endpoint is away, and says so', async () => {
      const away = await stage.open(bucket, { endpoint: `http://127.0.0.1:${await freePort()}` }, { budgetMs: 300 })
      await failsWith(
        put(large, away),
        /the endpoint does not answer: bring it back, or correct its address \(ECONNREFUSED\)/,
      )
      const nameless = await stage.open(bucket, { endpoint: 'http://nowhere.invalid' }, { budgetMs: 300 })
      await failsWith(put(small, nameless), /the name of the endpoint is unknown here|the name server does not answer/)
      await expectNothing()
    })

    it('on with new credentials where they rotate in the middle', async () => {
      const login = { accessKeyId: 'next-user', secretAccessKey: 'next-secret' }
      const next = await S3Server.start(program ?? '', { login, folder: server.folder })
      try {
        for (const [operation, part] of [
          ['part', 2],
          ['complete', 0],
        ] as const) {
          proxy.upstreamPort = server.port
          await stage.logIn(usualLogin)
          let isRotated = false
          proxy.misfortune = async (request) => {
            if (isRotated || !is(operation, part)(request)) return undefined
            isRotated = true
            await stage.logIn(login)
            proxy.upstreamPort = next.port
            return undefined
          }
          await put(large)
          expect(isRotated).toBe(true)
          expect(sumOf(await contentOf(store, 'a'))).toBe(sumOf(large))
        }
      } finally {
        await stage.logIn(usualLogin)
        await next.end()
      }
    })

    it('on where the server behind is killed and comes back', async () => {
      const other = await S3Server.start(program ?? '', { folder: server.folder })
      proxy.upstreamPort = other.port
      proxy.misfortune = async (request) => {
        if (request.part === 2 && proxy.upstreamPort === other.port) {
          await other.end()
          // The next request finds the server that came back.
          setImmediate(() => (proxy.upstreamPort = server.port))
        }
        return undefined
      }
      await put(large)
      expect(sumOf(await contentOf(direct, 'a'))).toBe(sumOf(large))
    })
  })

  describe('gets', () => {
    beforeAll(async () => {
      const filled = await stage.open(await server.makeBucket('faults-of-gets'), { endpoint: server.endpoint })
      await filled.put('a', inChunks(large))
      await filled.put('s', inChunks(small))
    })

    beforeEach(async () => {
      bucket = 'faults-of-gets'
      store = await stage.open(bucket, { endpoint: proxy.endpoint })
      direct = await stage.open(bucket, { endpoint: server.endpoint })
    })

    const passing: readonly S3Fault[] = [
      { kind: 'answer', status: 500, code: 'InternalError' },
      { kind: 'html', status: 503 },
      { kind: 'cut', where: 'request' },
      { kind: 'cut', where: 'before-answer' },
      { kind: 'cut', where: 'answer' },
      { kind: 'slow' },
    ]

    it.each(passing)('the content after %j', async (fault) => {
      proxy.next(fault, is('get'), 2)
      expect(sumOf(await contentOf(store, 'a'))).toBe(sumOf(large))
      proxy.next(fault, is('get'))
      expect(sumOf(await contentOf(store, 's', { from: 5, to: 70_005 }))).toBe(sumOf(small.subarray(5, 70_005)))
      // From where it broke off, and only of the same object.
      const resumed = proxy.seen.filter(({ headers }) => headers['if-match'] !== undefined)
      expect(resumed.length > 0).toBe(fault.kind === 'cut' && fault.where === 'answer')
    })

    it('the content where an answer stands still in its middle', async () => {
      const brief = await stage.open(bucket, { endpoint: proxy.endpoint }, { silenceMs: 1_500 })
      proxy.next({ kind: 'stall', where: 'answer' }, is('get'))
      expect(sumOf(await contentOf(brief, 'a'))).toBe(sumOf(large))
    })

    it('a sentence where each answer breaks before its first byte', async () => {
      proxy.next({ kind: 'cut', where: 'before-answer' }, is('get'), Infinity)
      await failsWith(
        contentOf(await impatient(), 'a'),
        /object a cannot be read: the connection to the endpoint broke/,
      )
    })

    it('a sentence where the object vanishes or is replaced in the middle', async () => {
      for (const [change, message] of [
        [() => direct.delete(['a']), /object a cannot be read: it was deleted or cut off while it was read/],
        [
          () => direct.put('a', inChunks(randomBytes(large.length))),
          /object a cannot be read: the object was replaced/,
        ],
      ] as const) {
        let times = 0
        proxy.misfortune = async (request) => {
          if (request.operation !== 'get') return undefined
          times += 1
          if (times === 2) await change()
          return times === 1 ? { kind: 'cut', where: 'answer' } : undefined
        }
        await failsWith(contentOf(store, 'a'), message)
        await direct.put('a', inChunks(large))
      }
    })

    it('a sentence where one byte changed on the way, in an object of one part or of more', async () => {
      for (const key of ['a', 's']) {
        proxy.next({ kind: 'flip', where: 'answer' }, is('get'))
        await failsWith(contentOf(store, key), /what was read is not what was stored: read it again/)
      }
    })

    it('a sentence where other bytes come than those that were asked for', async () => {
      proxy.next({ kind: 'whole' }, is('get'))
      await failsWith(
        contentOf(store, 's', { from: 5, to: 10 }),
        /the store answered with other bytes than were asked for/,
      )
      let times = 0
      proxy.misfortune = (request) => {
        if (request.operation !== 'get') return undefined
        times += 1
        return times === 1 ? { kind: 'cut', where: 'answer' } : { kind: 'whole' }
      }
      await failsWith(contentOf(store, 'a'), /the store answered with other bytes than were asked for/)
    })

    it('a wrong ETag changes nothing that is whole, and takes up nothing that is not', async () => {
      const wrong = { kind: 'header', name: 'etag', value: '"00000000000000000000000000000000"' } as const
      proxy.next(wrong, is('get'))
      expect(sumOf(await contentOf(store, 's'))).toBe(sumOf(small))
    })

    it('for as long as its reader takes, which may be longer than a connection may stand still', async () => {
      const brief = await stage.open(bucket, { endpoint: proxy.endpoint }, { silenceMs: 400 })
      const chunks: Uint8Array[] = []
      for await (const chunk of brief.get('a')) {
        if (chunks.length % 100 === 50) await new Promise((resolve) => setTimeout(resolve, 900))
        chunks.push(chunk)
      }
      expect(sumOf(Buffer.concat(chunks))).toBe(sumOf(large))
    })

    it('nothing more once its signal says so', async () => {
      const controller = new AbortController()
      proxy.next({ kind: 'stall', where: 'answer' }, is('get'))
      const reading = store.get('a', undefined, { signal: controller.signal })[Symbol.asyncIterator]()
      await reading.next()
      controller.abort(new Error('enough'))
      const rest = async () => {
        while ((await reading.next()).done !== true);
      }
      await expect(rest()).rejects.toThrow('enough')
    })
  })

  it('lists, deletes and gives up uploads again after a failure, and says what was refused', async () => {
    for (const key of ['a', 'b', 'c']) await direct.put(key, inChunks(Buffer.from('x')))
    for (const fault of [
      { kind: 'answer', status: 500, code: 'InternalError' },
      { kind: 'cut', where: 'answer' },
      { kind: 'cut', where: 'before-answer' },
    ] as const) {
      proxy.next(fault)
      expect((await listed(store, '')).map(({ key }) => key)).toEqual(['a', 'b', 'c'])
      proxy.next(fault)
      expect(await store.dropUnfinished('', Date.now())).toBe(0)
      proxy.next(fault)
      await store.delete(['x', 'y'])
    }
    proxy.next({ kind: 'answer', status: 403, code: 'AccessDenied' }, undefined, Infinity)
    await failsWith(listed(store, 'b'), /objects b… cannot be listed: the credentials do not allow that/)
    await failsWith(store.delete(['a', 'b']), /2 objects were not all deleted: the credentials do not allow that/)
    await failsWith(store.dropUnfinished('', 0), /unfinished uploads of objects … were not given up: the credentials/)
  })

  it('never takes a wrong content for a right one where one bit changes anywhere on the way', async () => {
    const flipping = await FlippingProxy.start(server.port)
    const options = { endpoint: `http://127.0.0.1:${flipping.port}` }
    const open = () => stage.open(bucket, options, { budgetMs: 300, silenceMs: 1_000 })
    const content = randomBytes(500)
    try {
      const usual = await open()
      flipping.next(undefined)
      await usual.put('a', inChunks(content))
      const putting = flipping.next(undefined)
      await contentOf(usual, 'a')
      const getting = flipping.next(undefined)
      const bits = ({ up, down }: { up: number; down: number }) =>
        (
          [
            ['up', up],
            ['down', down],
          ] as const
        ).flatMap(([way, bytes]) =>
          Array.from({ length: Math.ceil(bytes / 13) }, (_, step) => ({ way, at: step * 13, bit: step % 7 })),
        )
      for (const flip of bits(putting)) {
        await direct.delete(['a'])
        const changed = await open()
        flipping.next(flip)
        const isStored = await put(content, changed).then(
          () => true,
          () => false,
        )
        const found = await contentOf(direct, 'a').catch(() => undefined)
        if (isStored || found !== undefined) expect(found && sumOf(found), JSON.stringify(flip)).toBe(sumOf(content))
        changed.close()
      }
      await direct.put('a', inChunks(content))
      for (const flip of bits(getting)) {
        const changed = await open()
        flipping.next(flip)
        const found = await contentOf(changed, 'a').catch(() => undefined)
        if (found !== undefined) expect(sumOf(found), JSON.stringify(flip)).toBe(sumOf(content))
        changed.close()
      }
    } finally {
      await flipping.end()
      await rm(join(server.folder, bucket), { recursive: true })
    }
  })
})
