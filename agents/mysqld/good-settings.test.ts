import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { volumeLayout } from '../instance/volume-layout.ts'
import { changesSince, contradictsData, readGoodSettings, writeGoodSettings } from './good-settings.ts'

const settings = (serverSettings: Readonly<Record<string, string>>) => ({ serverSettings })

it('What changed since the last good start is told by name, with both values, whatever the spelling', () => {
  expect(
    changesSince(settings({ 'long-query-time': '3', sort_buffer_size: '1M' }), settings({ long_query_time: '4' })),
  ).toEqual(['long_query_time 4, was 3', 'sort_buffer_size by default, was 1M'])
  expect(changesSince(settings({ 'long-query-time': '3' }), settings({ long_query_time: '3' }))).toEqual([])
})

it('A setting that data is made for contradicts other data', () => {
  expect(contradictsData(settings({}), settings({ innodb_page_size: '65536', long_query_time: '3' }))).toBe(
    'the data was made with innodb_page_size 16384, and 65536 is another: that is chosen before a cluster is made',
  )
  expect(contradictsData(settings({ long_query_time: '3' }), settings({}))).toBe('')
})

it('A note that is not there, or is no note, says nothing', async () => {
  const volume = await mkdtemp(join(tmpdir(), 'regent-good-'))
  onTestFinished(() => rm(volume, { recursive: true }))
  const layout = { ...volumeLayout(volume), settingsGood: join(volume, 'good') }
  expect(await readGoodSettings(layout)).toBeUndefined()
  await writeFile(layout.settingsGood, '{"good"')
  expect(await readGoodSettings(layout)).toBeUndefined()
  await writeGoodSettings(layout, { good: settings({ long_query_time: '3' }) })
  expect(await readGoodSettings(layout)).toEqual({ good: settings({ long_query_time: '3' }) })
})
