import { copyFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { mountOf, realMedium, whyCacheIsLost, type Medium } from './medium.ts'

const medium: Medium = {
  podUid: 'pod-1',
  mounting: '/sys/fs/ext4/sda1:7',
  mount: { namespace: 'mnt:[1]', id: '43' },
  filesystemErrors: 0,
  file: '2049:12',
}
const elsewhere: Medium = { ...medium, mounting: '' }

describe('the page cache of a volume', () => {
  it.each<[string, Medium | null, Medium, string | null]>([
    ['is kept while everything is as it was', medium, medium, null],
    [
      'is kept when a container is started again in its pod, in another mount namespace',
      medium,
      { ...medium, mount: { namespace: 'mnt:[2]', id: '99' } },
      null,
    ],
    [
      'is kept when the mount id alone is another one: the file system stayed mounted',
      medium,
      { ...medium, mount: { namespace: 'mnt:[1]', id: '44' } },
      null,
    ],
    ['is kept as far as an agent can tell that is the first to look', null, medium, null],
    ['is kept when the pod is unknown', { ...medium, podUid: '' }, medium, null],
    ['is lost in another pod', medium, { ...medium, podUid: 'pod-2' }, 'this instance runs in another pod than before'],
    [
      'is lost when the file system was mounted anew, with the same mount id',
      medium,
      { ...medium, mounting: '/sys/fs/ext4/sda1:9' },
      'the volume was mounted anew',
    ],
    [
      'is lost with another mount id, where the file system tells no more',
      elsewhere,
      { ...elsewhere, mount: { namespace: 'mnt:[1]', id: '44' } },
      'the volume was mounted anew',
    ],
    [
      'is kept with another mount id of another namespace, where the file system tells no more',
      elsewhere,
      { ...elsewhere, mount: { namespace: 'mnt:[2]', id: '44' } },
      null,
    ],
    [
      'is lost when the volume was copied away and put back',
      medium,
      { ...medium, file: '2049:13' },
      'the volume was put in place from a copy',
    ],
    [
      'is lost when the file system met errors',
      medium,
      { ...medium, filesystemErrors: 2 },
      'the file system of the volume has counted 2 errors more',
    ],
    ['is kept when the errors are old', { ...medium, filesystemErrors: 2 }, { ...medium, filesystemErrors: 2 }, null],
  ])('%s', (_, before, now, why) => {
    expect(whyCacheIsLost(before, now)).toEqual(why)
  })
})

it('A file that was copied away and put back is another one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'regent-medium-'))
  try {
    const file = join(folder, 'state')
    await writeFile(file, 'now')
    const before = await realMedium(file, {}).read()
    await copyFile(file, `${file}.copy`)
    expect(whyCacheIsLost(before, await realMedium(file, {}).read())).toBe(null)
    await rename(`${file}.copy`, file)
    expect(whyCacheIsLost(before, await realMedium(file, {}).read())).toEqual('the volume was put in place from a copy')
  } finally {
    await rm(folder, { recursive: true })
  }
})

it('The mount of a path is the last one with the longest mount point above it', () => {
  const mountinfo = [
    '27 1 254:0 / / rw - ext4 /dev/root rw',
    '40 27 8:1 / /var/lib\\040x rw shared:1 - ext4 /dev/sda1 rw',
    '41 27 8:2 / /var/lib\\040x rw - xfs /dev/sdb rw',
    '42 27 8:3 / /var/lib\\040x/other rw - ext4 /dev/sdc rw',
    '',
  ].join('\n')
  expect(mountOf(mountinfo, '/var/lib x/shop-0')).toEqual({ id: '41', device: '8:2', type: 'xfs' })
  expect(mountOf(mountinfo, '/var/lib xy')).toEqual({ id: '27', device: '254:0', type: 'ext4' })
})

it('What this machine shows stays the same from look to look', async () => {
  const look = realMedium(tmpdir(), { REGENT_POD_UID: 'pod-1' })
  const seen = await look.read()
  expect(seen.podUid).toBe('pod-1')
  expect(seen.mount?.namespace).toMatch(/^mnt:\[\d+\]$/)
  expect(await look.read()).toEqual(seen)
})
