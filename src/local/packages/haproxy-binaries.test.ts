import { chmod } from 'node:fs/promises'
import { afterEach, expect, it, vi } from 'vitest'
import { fileWith } from '../testing.ts'
import { findHaproxy } from './haproxy-binaries.ts'

afterEach(() => vi.unstubAllEnvs())

async function saying(text: string): Promise<string> {
  const path = await fileWith(`#!/bin/sh\ncat <<'END'\n${text}\nEND\n`)
  await chmod(path, 0o700)
  vi.stubEnv('REGENT_HAPROXY', path)
  return path
}

it('An HAProxy that is named is taken when it is new enough and has Lua', async () => {
  const path = await saying('HAProxy version 2.6.12-1 2023/04/30\nFeature list : +EPOLL +LUA +OPENSSL')
  expect(await findHaproxy()).toEqual([path])
})

it.each([
  ['HAProxy version 2.4.22 2023\n+LUA', /is older than 2\.6/],
  ['HAProxy version 3.2.1\n-LUA', /without Lua/],
  ['nonsense', /is older than 2\.6/],
])('One that says %j is refused in a sentence', async (text, why) => {
  await saying(text)
  await expect(findHaproxy()).rejects.toMatchObject({
    code: 'REGENT_HAPROXY_MISSING',
    message: expect.stringMatching(why) as string,
  })
})

it.each(['haproxy', '/nowhere/haproxy'])('The name "%s" is refused', async (name) => {
  vi.stubEnv('REGENT_HAPROXY', name)
  await expect(findHaproxy()).rejects.toMatchObject({
    code: 'REGENT_HAPROXY_MISSING',
    message: expect.stringContaining(`"${name}"`) as string,
  })
})
