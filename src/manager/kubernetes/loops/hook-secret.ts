import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { Webhook } from '#failover/protocol/hook.ts'
import { secrets } from '#kube/secrets/secrets.ts'

const usualKey = 'secret'

/**
 * The secret of a webhook, in the cluster's namespace, as it is now: a new one is taken up by itself. Throws
 * `REGENT_REFUSED` where there is none.
 */
export async function secretOfWebhook(
  client: Pick<KubeClient, 'get'>,
  namespace: string,
  { secretRef }: Webhook,
): Promise<string | null> {
  if (secretRef === undefined) return null
  const { name, key = usualKey } = secretRef
  const found = await client.get(secrets, { namespace, name })
  const secret = Buffer.from(found?.data?.[key] ?? '', 'base64')
    .toString('utf8')
    .trim()
  if (secret !== '') return secret
  const what = found === undefined ? say`is not there` : say`has nothing under ${key}`
  throw new RegentError('REGENT_REFUSED', say`Secret ${namespace}/${name} ${what}, and nothing is sent without it`)
}
