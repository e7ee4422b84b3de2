import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callAction, LifecycleAgent, outputOf } from '#test/support/lifecycle-agent.ts'
import { clientOf, standIn, unmodified } from '#test/support/orchestrator-commands.ts'
import { mayHaveOwnPaths, withOwnPaths } from '#test/support/own-paths.ts'
import { freePort } from '#test/support/free-port.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** The document of a real component. Its name for an instance is `<component>-mysql-<ordinal>`. */
const given = process.env['REGENT_KB_AGENT_ACTION_FILE']
const [cluster, component] = ['shop-mysql', 'shop']
const program = '/kubeblocks/orchestrator-client'

/** Registers as scripts of such a component do: a discovery, an alias, and a look whether the alias took. */
const register = `#!/bin/bash
set -e
curl -s "$ORCHESTRATOR_API/api/discover/$KB_AGENT_POD_NAME/3306" >/dev/null
master=$(${program} -c which-cluster-master -i "$KB_AGENT_POD_NAME")
curl -s "$ORCHESTRATOR_API/api/set-cluster-alias/$master?alias=$CLUSTER_NAME" >/dev/null
for wait in $(seq 30); do
  [ "$(${program} -c which-cluster-alias -i "$KB_AGENT_POD_NAME")" == "$CLUSTER_NAME" ] && break
  sleep 1
done
echo -n "$master"`

const roleProbe = `first=$(${program} -c topology -i $CLUSTER_NAME | head -n 1)
IFS=',' read -ra words <<<"$(echo "$first" | tr -d '[]')"
[ "\${words[1]}" == ok ] || exit 0
address=$(echo "$first" | awk '{print $1}')
if [ "\${address%:*}" == "$KB_AGENT_POD_NAME" ]; then echo -n primary; else echo -n secondary; fi`

const memberLeave = `leaves=$KB_LEAVE_MEMBER_POD_NAME
master=$(${program} -c which-cluster-master -i $CLUSTER_NAME)
if [ "$leaves" == "\${master%%:*}" ]; then
  ${program} -c force-master-failover -i $CLUSTER_NAME
  for wait in $(seq 30); do
    master=$(${program} -c which-cluster-master -i $CLUSTER_NAME)
    [ "$leaves" != "\${master%%:*}" ] && break
    sleep 1
  done
fi
${program} -c reset-replica -i $leaves
${program} -c forget -i $leaves`

const bash = (name: string, script: string) => ({ name, exec: { command: ['bash', '-c', script] } })
const ours = JSON.stringify([
  bash('postProvision', '/scripts/mysql-orchestrator-register.sh'),
  bash('preTerminate', 'curl -s "http://${ORC_ENDPOINTS%%:*}:$ORC_PORTS/api/forget-cluster/$CLUSTER_NAME" || true'),
  bash('memberLeave', memberLeave),
  bash('roleProbe', roleProbe),
])

if (!mayHaveOwnPaths())
  console.warn('orchestrator-component.test.ts is skipped: its scripts call absolute paths; run the test as root')

const documents: readonly (readonly [title: string, file: string | undefined])[] = [
  ['of ours', undefined],
  ...(given === undefined ? [] : [['that REGENT_KB_AGENT_ACTION_FILE names', given] as const]),
]

/** Nothing is a stand-in but, where no unmodified client is named, the client. */
describe.runIf(mayHaveOwnPaths()).each(documents)('The document %s, run by an agent beside each server', (_, file) => {
  let port = 0
  let own: string
  const agents = new Map<string, LifecycleAgent>()
  beforeAll(async () => {
    port = await freePort()
    own = await mkdtemp(join(tmpdir(), 'lifecycle-component-'))
  })
  afterAll(async () => {
    await Promise.all([...agents.values()].map((agent) => agent.end()))
    await rm(own, { recursive: true })
  })
  const shop = withCluster(() => ({
    name: cluster,
    flags: ['--orchestrator-port', String(port), '--orchestrator-hosts', 'name'],
  }))

  beforeAll(async () => {
    const [scripts, kubeblocks] = [join(own, 'scripts'), join(own, 'kubeblocks')]
    for (const folder of [scripts, kubeblocks]) await mkdir(folder)
    await writeFile(join(scripts, 'mysql-orchestrator-register.sh'), register)
    await copyFile(unmodified ?? standIn, join(kubeblocks, 'orchestrator-client'))
    for (const path of [join(scripts, 'mysql-orchestrator-register.sh'), join(kubeblocks, 'orchestrator-client')])
      await chmod(path, 0o755)
    const document = file === undefined ? ours : await readFile(file, 'utf8')
    const folders = { '/scripts': scripts, '/kubeblocks': kubeblocks }
    for (const ordinal of [0, 1, 2]) {
      const pod = `${cluster}-${ordinal}`
      const [root, sockets] = [join(own, `root-${ordinal}`), join(own, `sockets-${ordinal}`)]
      for (const folder of [root, sockets]) await mkdir(folder)
      const agent = await LifecycleAgent.start({
        environment: {
          ...{ KB_AGENT_ACTION: document, KB_AGENT_PROBE: 'null', KB_AGENT_POD_NAME: pod },
          ...{ CLUSTER_NAME: cluster, CLUSTER_COMPONENT_NAME: component },
          ...{ ORCHESTRATOR_API: `http://127.0.0.1:${port}`, ORC_ENDPOINTS: '127.0.0.1:80', ORC_PORTS: String(port) },
        },
        options: ['--open', '--unix-socket', sockets],
        within: withOwnPaths({ root, folders }),
      })
      agents.set(pod, agent)
      await agent.said('HTTP listens')
    }
  }, 300_000)

  async function call(pod: string, action: string, parameters: Readonly<Record<string, string>> = {}): Promise<string> {
    const socketPath = join(own, `sockets-${pod.slice(-1)}`, 'kbagent.socket')
    const answer = await callAction({ action, parameters, timeoutSeconds: 60 }, { at: { socketPath } })
    if (answer.error !== undefined) throw new Error(`${action} at ${pod}: ${answer.error} ${answer.message}`)
    return outputOf(answer)
  }
  const ask = (...words: readonly string[]) => clientOf(unmodified ?? standIn, port)(...words)
  const pods = [0, 1, 2].map((ordinal) => `${cluster}-${ordinal}`)
  const roles = () => Promise.all(pods.map((pod) => call(pod, 'roleProbe')))
  const rolesWith = (primary: string) => pods.map((pod) => (pod === primary ? 'primary' : 'secondary'))

  it('registers each server, and tells its role', async () => {
    await shop.current.whole()
    const primary = await shop.current.primary()
    for (const pod of pods) expect(await call(pod, 'postProvision')).toBe(`${primary}:3306`)
    expect(await roles()).toEqual(rolesWith(primary))
    expect((await ask('-c', 'which-cluster-alias', '-i', cluster)).stdout).toBe(cluster)
  })

  it('tells the new primary after a failover', async () => {
    const before = await shop.current.primary()
    await shop.current.fault(before, 'kill')
    await shop.current.until('another one leads', async () => (await shop.current.primary()) !== before)
    await shop.current.fault(before, 'start')
    await shop.current.whole()
    expect(await roles()).toEqual(rolesWith(await shop.current.primary()))
  })

  it('lets the primary leave under a load of which nothing is lost, and nobody more', async () => {
    const primary = await shop.current.primary()
    const writer = await Writer.start(shop.current)
    await writer.next()
    await call(primary, 'memberLeave', { KB_LEAVE_MEMBER_POD_NAME: primary })
    const now = await shop.current.primary()
    expect(now).not.toBe(primary)
    expect(await ask('-c', 'instance', '-i', primary)).toMatchObject({ code: 1, stdout: '' })
    const stays = pods.filter((pod) => pod !== primary && pod !== now)[0] ?? ''
    // Until then the sentence has no word of the old primary, which follows again and is forgotten.
    await shop.current.whole()
    // Writes wait for one replica: without that one nobody could acknowledge.
    await expect(call(stays, 'memberLeave', { KB_LEAVE_MEMBER_POD_NAME: stays })).rejects.toThrow(
      /forgotten before, only 0 replicas would be left, and a write of shop-mysql waits for 1/,
    )
    await writer.next()
    await writer.stop()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [] })
    const listed = (await ask('-c', 'all-instances')).stdout.split('\n').toSorted()
    expect(listed).toEqual([now, stays].toSorted().map((name) => `${name}:3306`))
    expect(await call(now, 'roleProbe')).toBe('primary')
  })

  it('forgets the cluster at its end', async () => {
    await call(await shop.current.primary(), 'preTerminate')
    expect(await ask('-c', 'which-cluster', '-i', cluster)).toMatchObject({ code: 1, stdout: '' })
  })
})
