import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, afterAll, describe, expect, it } from 'vitest'
import { readActions } from '../configuration/configuration.ts'
import { saidBy, testingActions } from '../testing.ts'

/**
 * A `KB_AGENT_ACTION` as the component of a MySQL server has one: scripts in one line of JSON, with the escapes that Go
 * writes, quotes in quotes, here-strings, and variables of the call, the pod and the cluster. The programs that these
 * scripts call are stand-ins that write down how they were called.
 */
const document = String.raw`[
{"name":"postProvision","exec":{"command":["bash","-c","orchestrator-client -c discover -i \"$KB_AGENT_POD_NAME\" \u0026\u0026 echo -n \"known as ${'$'}{CLUSTER_NAME}\""]},"timeoutSeconds":20,"retryPolicy":{"maxRetries":2,"retryInterval":1000000}},
{"name":"preTerminate","exec":{"command":["bash","-c","curl \"http://${'$'}{ORC_ENDPOINTS%%:*}:${'$'}{ORC_PORTS}/api/forget-cluster/${'$'}CLUSTER_NAME\" || true"]}},
{"name":"memberLeave","exec":{"command":["/bin/bash","-c","set +e\nleader=$(orchestrator-client -c which-cluster-master -i $CLUSTER_NAME)\nordinal=${'$'}{KB_LEAVE_MEMBER_POD_NAME##*-}\nleaver=$(echo \"${'$'}{COMPONENT}_mysql_${'$'}{ordinal}\" | tr '_' '-' | tr '[:upper:]' '[:lower:]')\nif [ \"${'$'}{leaver%%:*}\" == \"${'$'}{leader%%:*}\" ]; then\n  orchestrator-client -c force-master-failover -i $CLUSTER_NAME\nfi\norchestrator-client -c forget -i ${'$'}{leaver}\n"]}},
{"name":"accountProvision","exec":{"command":["/bin/sh","-c","set -e\neval statement=\\\"${'$'}{KB_ACCOUNT_STATEMENT}\\\"\nmysql -u${'$'}{MYSQL_ROOT_USER} -p${'$'}{MYSQL_ROOT_PASSWORD} -P3306 -h127.0.0.1 -e \"${'$'}{statement}\"\n"]}},
{"name":"roleProbe","exec":{"command":["/bin/bash","-c","lines=$(orchestrator-client -c topology -i $CLUSTER_NAME) || true\nif [[ -z $lines ]]; then\n  echo -n \"secondary\"\n  exit 0\nfi\nfirst=$(echo \"$lines\" | head -n 1)\nIFS=',' read -ra words \u003c\u003c\u003c \"$(echo \"$first\" | tr -d '[]')\"\nif [ \"${'$'}{words[1]}\" != \"ok\" ]; then\n  exit 0\nfi\naddress=$(echo \"$first\" | awk '{print $1}')\nif [ \"${'$'}{address%:*}\" == \"shop-mysql-${'$'}{KB_AGENT_POD_NAME##*-}\" ]; then\n  echo -n \"primary\"\nelse\n  echo -n \"secondary\"\nfi\n"]},"timeoutSeconds":5}
]`

let folder: string
let count = 0

/** A program that writes its arguments down, one a line, and answers with what `answers` says of the second. */
async function standIn(name: string, answers: string): Promise<void> {
  const script = `#!/bin/bash\nprintf '%s\\n' ${name} "$@" >> "$CALLS"\n${answers}\n`
  await writeFile(join(folder, name), script)
  await chmod(join(folder, name), 0o755)
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lifecycle-'))
  await standIn(
    'orchestrator-client',
    'case $2 in which-cluster-master) echo "shop-mysql-0:3306";; topology) printf "%s" "$TOPOLOGY";; esac',
  )
  await standIn('mysql', 'exit 0')
  await standIn('curl', 'exit 7')
})

afterAll(() => rm(folder, { recursive: true }))

async function run(action: string, request: object = {}, more: Readonly<Record<string, string>> = {}) {
  const calls = join(folder, `calls-${(count += 1)}`)
  await writeFile(calls, '')
  const environment = {
    PATH: `${folder}:${process.env['PATH']}`,
    CALLS: calls,
    KB_AGENT_POD_NAME: 'shop-mysql-0',
    CLUSTER_NAME: 'shop',
    COMPONENT: 'SHOP',
    ORC_ENDPOINTS: 'orc.shops:80,other:80',
    ORC_PORTS: '3000',
    MYSQL_ROOT_USER: 'root',
    MYSQL_ROOT_PASSWORD: "it's $ecret",
    ...more,
  }
  const actions = [...readActions({ KB_AGENT_ACTION: document }).values()]
  const { desk } = testingActions(actions, { environment })
  const result = await desk.call({ action, ...request })
  return { said: saidBy(result), ok: result.ok, calls: (await readFile(calls, 'utf8')).trim().split('\n') }
}

describe('the actions of a MySQL component', () => {
  it('register the pod', async () => {
    expect(await run('postProvision')).toEqual({
      ok: true,
      said: 'known as shop',
      calls: ['orchestrator-client', '-c', 'discover', '-i', 'shop-mysql-0'],
    })
  })

  it('forget the cluster, whatever the program says', async () => {
    expect(await run('preTerminate')).toEqual({
      ok: true,
      said: '',
      calls: ['curl', 'http://orc.shops:3000/api/forget-cluster/shop'],
    })
  })

  it.each([
    ['shop-mysql-1', false],
    ['shop-mysql-0', true],
  ])('let member %s leave, and fail over first where it leads: %j', async (leaver, leads) => {
    const { ok, calls } = await run('memberLeave', { parameters: { KB_LEAVE_MEMBER_POD_NAME: leaver } })
    expect([ok, calls.includes('force-master-failover')]).toEqual([true, leads])
    expect(calls.slice(-4)).toEqual(['-c', 'forget', '-i', leaver])
  })

  it('provision an account with a statement full of quotes, as one argument', async () => {
    const statement = "CREATE USER 'app'@'%' IDENTIFIED BY 'p;a\\\\s s'; GRANT ALL ON app.* TO 'app'@'%'"
    const { ok, calls } = await run('accountProvision', { parameters: { KB_ACCOUNT_STATEMENT: statement } })
    expect([ok, calls.slice(0, 2), calls.at(-2), calls.at(-1)]).toEqual([
      true,
      ['mysql', '-uroot'],
      '-e',
      statement.replace('\\\\', '\\'),
    ])
  })

  it.each([
    ['', 'secondary'],
    ['shop-mysql-0:3306 [0s,ok,8.0.45]\n+ shop-mysql-1:3306 [0s,ok,8.0.45]', 'primary'],
    ['shop-mysql-1:3306 [0s,ok,8.0.45]', 'secondary'],
    ['shop-mysql-0:3306 [0s,nonreplicating,8.0.45]', ''],
  ])('tell the role by the topology %j', async (topology, role) => {
    expect(await run('roleProbe', {}, { TOPOLOGY: topology })).toMatchObject({ ok: true, said: role })
  })
})
