/**
 * Finds keys of well-known services by prefix and alphabet. Text of this form that is not random is ignored, because it is not a
 * key but a placeholder, a CSS class or an example from a manual.
 */
import { scan, type TextMatch } from './scanning.ts';

const formats = [
  // Amazon, Google, Microsoft
  '(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}',
  'aws_secret_access_key["\']?\\s{0,3}[=:]\\s{0,3}["\']?[A-Za-z0-9+/]{40}',
  'AIza[\\w-]{35}',
  'GOCSPX-[\\w-]{28}',
  'ya29\\.[\\w-]{40,400}',
  'AccountKey=[A-Za-z0-9+/]{86}==',
  // Model providers
  'sk-ant-(?:api|admin|oat)\\d\\d-[\\w-]{24,120}',
  'sk-(?:proj|svcacct|admin|or-v1|lf)-[\\w-]{24,200}',
  'sk-[A-Za-z0-9]{20,64}',
  'gsk_[A-Za-z0-9]{40,60}',
  'xai-[A-Za-z0-9]{60,90}',
  'pplx-[A-Za-z0-9]{40,60}',
  'hf_[A-Za-z]{30,40}',
  'r8_[A-Za-z0-9]{36,40}',
  // Code hosting and package registries
  'gh[pousr]_[A-Za-z0-9]{36,255}',
  'github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{40,80}',
  'gl(?:pat|dt|rt|cbt|ptt)-[\\w-]{20,64}',
  'npm_[A-Za-z0-9]{36}',
  'pypi-AgE[\\w-]{50,300}',
  'dckr_pat_[\\w-]{24,40}',
  // Payments, messaging, hosting
  '(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,120}',
  'whsec_[A-Za-z0-9+/]{24,80}',
  'xox[abeoprs]-[A-Za-z0-9-]{20,120}',
  'xapp-\\d-[A-Z0-9]{8,14}-\\d{8,16}-[a-f0-9]{40,80}',
  'hooks\\.slack\\.com/services/T[A-Z0-9]{6,12}/B[A-Z0-9]{6,12}/[A-Za-z0-9]{20,30}',
  'SG\\.[\\w-]{22}\\.[\\w-]{43}',
  'key-[0-9a-f]{32}',
  'SK[0-9a-f]{32}',
  '\\d{8,10}:AA[\\w-]{33}',
  'do[opr]_v1_[a-f0-9]{64}',
  'shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}',
  'dapi[a-f0-9]{32}',
  'hv[sb]\\.[\\w-]{24,200}',
  'dp\\.(?:pt|st|ct)\\.[A-Za-z0-9._-]{40,60}',
  'lin_api_[A-Za-z0-9]{32,48}',
  'sntrys_[\\w+/=-]{40,300}',
  // Keys of this service
  'svc_[a-z]{2,10}_[A-Za-z0-9]{22,60}',
];
const pattern = new RegExp(`(?<![A-Za-z0-9_-])(?:${formats.join('|')})(?![A-Za-z0-9_])`, 'g');

export function findApiKeys(content: string): Generator<TextMatch | null> {
  return scan(pattern, content, looksRandom);
}

/** Minimum number of different characters. For a short secret, half of its length is enough. */
const distinctMin = 10;

function looksRandom(text: string): boolean {
  const secret = text.slice(Math.max(text.search(/[_.=:-](?!secret|access|key)/) + 1, 4));
  return (
    new Set(secret).size >= Math.min(distinctMin, secret.length / 2) &&
    // A secret of only letters counts as a word, unless the format allows keys without digits. A long run of one character is a
    // placeholder.
    (/\d/.test(secret) || text.startsWith('hf_') || text.startsWith('A')) &&
    !/(.)\1{4}|example|placeholder|your[-_]?|changeme|redacted|dummy|12345678|abcdefgh/i.test(text)
  );
}
