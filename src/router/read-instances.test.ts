import { expect, it } from 'vitest'
import type { PlatformInstance } from '#common/ports/platform.ts'
import { readsInstances } from './read-instances.ts'

const named = (name: string): PlatformInstance => ({ name, host: '10.0.0.1', port: 3306, agent: '10.0.0.1:9400' })

it('Of two changes the later counts, however long the reading of the first takes', async () => {
  const reads: ((name: string) => void)[] = []
  const set: string[] = []
  const read = readsInstances({
    instances: () => new Promise((resolve) => reads.push((name) => resolve([named(name)]))),
    set: (instances) => set.push(...instances.map(({ name }) => name)),
    warn: () => undefined,
  })
  read()
  read()
  reads[1]?.('new')
  await new Promise(setImmediate)
  reads[0]?.('old')
  await new Promise(setImmediate)
  expect(set).toEqual(['new'])
})

it('Instances that cannot be read are named, and read again at the next change', async () => {
  const warned: string[] = []
  const read = readsInstances({
    instances: () => Promise.reject(new Error('EACCES')),
    set: () => undefined,
    warn: (sentence) => warned.push(String(sentence)),
  })
  read()
  await expect.poll(() => warned).toEqual(['the instances cannot be read: EACCES'])
  read()
  await expect.poll(() => warned).toHaveLength(2)
})
