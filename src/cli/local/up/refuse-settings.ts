import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { renderServerConfig } from '#agents/mysqld/my-cnf.ts'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { contradictsData, readGoodSettings } from '#agents/mysqld/good-settings.ts'
import { askForSettings, runHere } from '#agents/mysqld/settings-check.ts'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sayable } from '#common/sentence/sentence.ts'
import type { LocalCluster, MysqlPrograms } from '#local/folder/cluster-file.ts'
import { agentConfigPath, type StateLayout } from '#local/folder/state-layout.ts'
import { readAgentConfig } from '#cli/commands/programs/agent-config-file.ts'

/**
 * Settings that people wrote into the agents' files and this mysqld does not take are refused before anything is
 * written or started: `REGENT_SETTINGS_REFUSED` with mysqld's own words, or `REGENT_BAD_REQUEST` for those that Regent
 * manages.
 */
export async function refuseUnknownSettings(
  layout: StateLayout,
  { instances }: LocalCluster,
  { mysqld, pluginDir, shareDir }: MysqlPrograms,
): Promise<void> {
  const asked = new Set<string>()
  const folder = await mkdtemp(join(tmpdir(), 'regent-settings-'))
  try {
    for (const { name } of instances) {
      const path = agentConfigPath(layout, name)
      const config = await readAgentConfig(path)
      const known = await readGoodSettings(volumeLayout(config.volume))
      const contradiction = known === undefined ? '' : contradictsData(known.good, config)
      if (contradiction !== '')
        throw refused(say`mysqld of ${name} would not start with the serverSettings in ${path}`, contradiction)
      const own = JSON.stringify(config.serverSettings)
      if (own === '{}' || asked.has(own)) continue
      asked.add(own)
      const file = join(folder, 'my.cnf')
      await writeFile(file, renderServerConfig({ ...config, mysqld, pluginDir, shareDir }), { mode: 0o600 })
      const { words } = await askForSettings(mysqld, file, runHere)
      if (words !== '') throw refused(say`mysqld of ${name} refuses the serverSettings in ${path}`, reported(words))
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function refused(what: Sayable, why: Sayable): RegentError {
  return new RegentError('REGENT_SETTINGS_REFUSED', say`${what}: ${why}; nothing was changed`)
}
