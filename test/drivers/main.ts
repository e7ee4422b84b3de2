import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readCluster, routerAddress } from '#local/folder/cluster-file.ts'
import { describeError } from '#common/errors/errors.ts'
import { startCluster, type TestCluster } from '../support/cluster.ts'
import { logOf } from '../support/instance-files.ts'
import { interruption, untilInterrupted } from '../support/interruption.ts'
import type { Prepared } from '../support/client-drivers.ts'
import { drivers, type Driver } from './drivers.ts'
import { DriverProgram, type Said } from './program.ts'

/**
 * `npm run drivers`: what six drivers see through the router with connections that were idle while the primary moved,
 * and while there is no primary. Drivers that cannot be had here are left out, and that is said.
 */
const moments = ['a switchover', 'the death of the primary'] as const

interface Client {
  readonly driver: Driver
  readonly program: DriverProgram
}

async function main(): Promise<void> {
  const interrupted = interruption()
  const folder = await mkdtemp(join(tmpdir(), 'regent-drivers-'))
  try {
    const prepared = await untilInterrupted(() => prepareAll(folder), interrupted)
    const cluster = await startCluster({ flags: ['--router'] })
    try {
      await untilInterrupted(() => play(cluster, prepared), interrupted)
    } finally {
      await cluster.down()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type PreparedDriver = readonly [driver: Driver, command: Prepared]

async function prepareAll(folder: string): Promise<readonly PreparedDriver[]> {
  const prepared: PreparedDriver[] = []
  for (const driver of drivers) {
    console.log(`${driver.name} is made ready`)
    try {
      prepared.push([driver, await driver.prepare(await mkdtemp(join(folder, 'program-')))])
    } catch (error) {
      console.log(`left out: ${driver.name} cannot be had here: ${describeError(error).slice(0, 200)}`)
    }
  }
  return prepared
}

async function play(cluster: TestCluster, prepared: readonly PreparedDriver[]): Promise<void> {
  await cluster.whole()
  await cluster.sql(await cluster.primary(), 'CREATE TABLE app.driven (id CHAR(36) PRIMARY KEY)')
  const { host, writePort } = routerAddress(await readCluster(cluster.layout.dir))
  const { password } = await cluster.login('client')
  const environment = { DB_HOST: host, DB_PORT: String(writePort), DB_PASSWORD: password }
  const clients = prepared.map(([driver, command]) => ({ driver, program: new DriverProgram(command, environment) }))
  try {
    await playMoments(cluster, clients)
  } finally {
    for (const { program } of clients) program.end()
  }
}

async function playMoments(cluster: TestCluster, clients: readonly Client[]): Promise<void> {
  for (const moment of moments) {
    for (const { driver, program } of clients) {
      const { code, text } = await program.tell('prepare')
      if (code !== 'ok') throw new Error(`${driver.name} cannot connect: ${code} ${text}`)
    }
    if (moment === 'a switchover') await cluster.switchover()
    else await killed(cluster)
    await cluster.whole()
    console.log(`\nIdle during ${moment}, and used once the cluster is whole again\n`)
    for (const { driver, program } of clients) {
      report(driver.name, 'as it is', await program.tell('plain'))
      report(driver.name, driver.kept, await program.tell('kept'))
    }
  }
  const primary = await cluster.primary()
  await cluster.operate('fence', { instance: primary, keepPrimary: true })
  await cluster.until('the router holds sessions', async () =>
    (await logOf(cluster, 'router')).includes('sessions wait:'),
  )
  console.log('\nA new connection while there is no primary\n')
  for (const { driver, program } of clients) report(driver.name, 'new', await program.tell('new'))
  await cluster.operate('unfence', { instance: primary })
}

async function killed(cluster: TestCluster): Promise<void> {
  const from = await cluster.primary()
  await cluster.fault(from, 'kill-mysqld')
  await cluster.waitFor('another primary', ({ primary, writable }) => primary !== from && writable === true)
}

function report(name: string, how: string, { code, ms, text }: Said): void {
  console.log(`| ${name} | ${how} | ${code} | ${ms} ms | ${text.slice(0, 120)} |`)
}

await main()
