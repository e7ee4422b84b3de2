import { literal } from '#agents/instance/accounts.ts'
import type { Sql } from '../connections/statements.ts'

/** None of them waits for clients, but two that begin another binary log: past this they are ended. */
const settingMs = 1_000

/** `gtid_mode` moves one step at a time (manual, "Enabling GTID Transactions Online"). */
const stepsBefore: Readonly<Record<string, readonly string[]>> = { gtid_mode: ['OFF_PERMISSIVE', 'ON_PERMISSIVE'] }
const gtidModes = ['OFF', 'OFF_PERMISSIVE', 'ON_PERMISSIVE', 'ON']

export async function setSetting(sql: Sql, name: string, value: string): Promise<void> {
  const [row] = await sql.read(`SELECT @@global.${name} AS seen`)
  const at = gtidModes.indexOf(String(row?.['seen']))
  const steps = (stepsBefore[name] ?? []).filter((step) => gtidModes.indexOf(step) > at)
  for (const step of [...steps, value]) await sql.change(`SET GLOBAL ${name} = ${textFor(step)}`, settingMs)
}

function textFor(value: string): string {
  return /^-?\d+(\.\d+)?$/.test(value) ? value : literal(value)
}
