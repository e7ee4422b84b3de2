import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { clientOf, clients, matches, mostUsed, standIn, unmodified } from '#test/support/orchestrator-commands.ts'
import { freePort } from '#test/support/free-port.ts'
import { withCluster } from '#test/support/with-cluster.ts'

if (unmodified === undefined)
  console.warn('REGENT_ORCHESTRATOR_CLIENT names no client of orchestrator: only the stand-in of this project asks')

/** Members of a group listen on ports of their own on one machine. */
const samePorts = (text: string) => text.replaceAll(/(shop-\d):\d+/g, '$1:3306')

describe.each(['semisync', 'group'] as const)('A cluster in mode %s', (mode) => {
  let port = 0
  beforeAll(async () => {
    port = await freePort()
  })
  const shop = withCluster(() => ({
    spec: { mode },
    flags: ['--orchestrator-port', String(port), '--orchestrator-hosts', 'name'],
  }))

  it.each(clients)('answers the commands that scripts use most, asked by %s', async (_, program) => {
    const cluster = shop.current
    await cluster.whole()
    if ((await cluster.primary()) !== 'shop-0') await cluster.switchover({ to: 'shop-0' })
    await cluster.whole()
    const client = clientOf(program, port)
    const wrong: unknown[] = []
    for (const [words, prints] of mostUsed(mode === 'semisync')) {
      const got = await client(...words.split(' '))
      if (!matches({ ...got, stdout: samePorts(got.stdout) }, prints)) wrong.push({ words, prints, got })
      if (/takeover|force-/.test(words)) await cluster.whole()
    }
    expect(wrong).toEqual([])
  })
})

/** The calls of a component’s scripts, as scripts of KubeBlocks’ component for MySQL with orchestrator make them. */
const roleProbe = `
first=$($CLIENT -c topology -i shop | head -n 1)
IFS=',' read -ra words <<<"$(echo "$first" | tr -d '[]')"
[ "\${words[1]}" == ok ] || exit 0
address=$(echo "$first" | awk '{print $1}')
if [ "\${address%:*}" == "$SELF" ]; then echo -n primary; else echo -n secondary; fi`

const memberLeave = `
master=$($CLIENT -c which-cluster-master -i shop)
if [ "$SELF" == "\${master%%:*}" ]; then
  $CLIENT -c force-master-failover -i shop
  for wait in $(seq 30); do
    master=$($CLIENT -c which-cluster-master -i shop)
    [ "$SELF" != "\${master%%:*}" ] && break
    sleep 1
  done
fi
$CLIENT -c reset-replica -i $SELF
$CLIENT -c forget -i $SELF`

describe('Scripts of a component', () => {
  let port = 0
  beforeAll(async () => {
    port = await freePort()
  })
  const shop = withCluster(() => ({
    flags: ['--orchestrator-port', String(port), '--orchestrator-hosts', 'name'],
  }))
  const run = (script: string, self: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const env = {
        ...process.env,
        CLIENT: unmodified ?? standIn,
        ORCHESTRATOR_API: `http://127.0.0.1:${port}`,
        SELF: self,
      }
      execFile('bash', ['-c', script], { env }, (error, stdout, stderr) =>
        error ? reject(new Error(`${error.message}\n${stdout}\n${stderr}`)) : resolve(stdout.trim()),
      )
    })

  it('tell the primary from replicas, and a member that leaves hands over and is forgotten', async () => {
    const cluster = shop.current
    await cluster.whole()
    const primary = await cluster.primary()
    const [replica = ''] = await cluster.replicas()
    expect(await run(roleProbe, primary)).toBe('primary')
    expect(await run(roleProbe, replica)).toBe('secondary')
    await run(memberLeave, primary)
    const now = await cluster.primary()
    expect(now).not.toBe(primary)
    expect(await run(roleProbe, now)).toBe('primary')
    const listed = await clientOf(standIn, port)('-c', 'all-instances')
    expect(listed.stdout.split('\n')).toHaveLength(2)
    expect(listed.stdout).not.toContain(primary)
    expect(await clientOf(standIn, port)('-c', 'instance', '-i', primary)).toMatchObject({ code: 1, stdout: '' })
  })

  const document = process.env['REGENT_KB_AGENT_ACTION_FILE']
  it.skipIf(document === undefined)('run unchanged as they stand in the document of a component', async () => {
    const cluster = shop.current
    await cluster.whole()
    await clientOf(standIn, port)('-c', 'discover', '-i', (await cluster.replicas())[0] ?? '')
    interface Action {
      readonly name: string
      readonly exec: { readonly command: readonly string[] }
    }
    const actions = JSON.parse(await readFile(document ?? '', 'utf8')) as readonly Action[]
    const script = (name: string) =>
      (actions.find((action) => action.name === name)?.exec.command[2] ?? '')
        .replaceAll('/kubeblocks/orchestrator-client', unmodified ?? standIn)
        // Instances of the document’s component are called <component>-mysql-<ordinal>.
        .replaceAll('_mysql_', '_')
    const asMember = (name: string, member: string) =>
      run(
        `export CLUSTER_NAME=shop CLUSTER_COMPONENT_NAME=shop KB_AGENT_POD_NAME=${member} KB_LEAVE_MEMBER_POD_NAME=${member}\n${script(name)}`,
        member,
      )
    const primary = await cluster.primary()
    expect(await asMember('roleProbe', primary)).toBe('primary')
    await asMember('memberLeave', primary)
    expect(await cluster.primary()).not.toBe(primary)
    expect((await clientOf(standIn, port)('-c', 'all-instances')).stdout).not.toContain(primary)
  })
})
