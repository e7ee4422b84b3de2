import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { canonicalName } from '#failover/settings/table.ts'
import { changedFixedSettings } from '#failover/settings/check.ts'
import type { VolumeLayout } from '../instance/volume-layout.ts'

/** What people say of mysqld's settings, as an agent is configured. */
export interface OwnSettings {
  readonly serverSettings: Readonly<Record<string, string>>
  readonly allowUnclassified?: readonly string[]
}

/** Which settings this instance's mysqld came up with last, and which it did not come up with since. */
export interface GoodSettings {
  readonly good: OwnSettings
  /** mysqld came up with `good` right after it had not come up with these: they are the reason. Absent for none. */
  readonly refused?: { readonly settings: OwnSettings; readonly words: string }
}

/** Undefined where no start of mysqld on this volume was seen to succeed, or the note cannot be read. */
export async function readGoodSettings({ settingsGood }: VolumeLayout): Promise<GoodSettings | undefined> {
  try {
    const known = JSON.parse(await readFile(settingsGood, 'utf8')) as Partial<GoodSettings>
    return known.good?.serverSettings === undefined ? undefined : (known as GoodSettings)
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export async function writeGoodSettings({ settingsGood }: VolumeLayout, known: GoodSettings): Promise<void> {
  await writeFile(`${settingsGood}.new`, JSON.stringify(known), { mode: 0o600 })
  await rename(`${settingsGood}.new`, settingsGood)
}

/** New data may be made for other values. */
export function forgetGoodSettings({ settingsGood }: VolumeLayout): Promise<void> {
  return rm(settingsGood, { force: true })
}

export function ownSettings({ serverSettings, allowUnclassified }: OwnSettings): OwnSettings {
  return { serverSettings, ...(allowUnclassified === undefined ? {} : { allowUnclassified }) }
}

export function isSameSettings(a: OwnSettings, b: OwnSettings): boolean {
  return isDeepStrictEqual(a.serverSettings, b.serverSettings)
}

/** `innodb_log_buffer_size 16M, was 8M`, one for each that differs. */
export function changesSince(good: OwnSettings, now: OwnSettings): readonly string[] {
  const [is, was] = [now, good].map(
    ({ serverSettings }) =>
      new Map(Object.entries(serverSettings).map(([name, value]) => [canonicalName(name), value])),
  )
  const names = [...new Set([...(is?.keys() ?? []), ...(was?.keys() ?? [])])].toSorted()
  return names.flatMap((name) => {
    const [value, before] = [is?.get(name), was?.get(name)]
    return value === before ? [] : [`${name} ${value ?? 'by default'}, was ${before ?? 'by default'}`]
  })
}

/** Why data that is there does not go with these settings; '' where it does. */
export function contradictsData(good: OwnSettings, now: OwnSettings): string {
  return changedFixedSettings(now.serverSettings, good.serverSettings)
    .map(
      ({ name, now: value, was }) =>
        `the data was made with ${name} ${was}, and ${value} is another: that is chosen before a cluster is made`,
    )
    .join('; ')
}
