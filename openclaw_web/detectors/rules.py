"""Shapes of keys that services issue: facts about their prefixes and lengths, as a table."""

from typing import NamedTuple

ANY = r"[A-Za-z0-9_-]"
ALNUM = r"[A-Za-z0-9]"
HEX = r"[0-9a-f]"
UUID = rf"{HEX}{{8}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{12}}"


class KeyShape(NamedTuple):
    """A key by its shape.

    `prefix` is text, `body` a pattern of RE2 for what follows; what is found begins after `lead`, a pattern that is
    not part of the key.
    """

    rule: str
    prefix: str
    body: str
    lead: str = ""


MODELS = (
    KeyShape("anthropic", "sk-ant-", rf"{ANY}{{20,}}"),
    KeyShape("helicone", "sk-helicone-", r"[a-z0-9]{7}(?:-[a-z0-9]{7}){3}"),
    KeyShape("openrouter", "sk-or-", rf"{ANY}{{24,}}"),
    KeyShape("langfuse", "sk-lf-", UUID),
    KeyShape("openai-project", "sk-", rf"(?:proj|svcacct|admin|None)-{ANY}{{20,}}"),
    KeyShape("openai", "sk-", rf"{ALNUM}{{20,}}"),  # also DeepSeek, Moonshot, Qwen
    KeyShape("openai-session", "sess-", rf"{ALNUM}{{36,}}"),
    KeyShape("groq", "gsk_", rf"{ALNUM}{{32,}}"),
    KeyShape("xai", "xai-", rf"{ALNUM}{{32,}}"),
    KeyShape("perplexity", "pplx-", rf"{ALNUM}{{32,}}"),
    KeyShape("huggingface", "hf_", rf"{ALNUM}{{30,}}"),
    KeyShape("huggingface-organization", "api_org_", rf"{ALNUM}{{30,}}"),
    KeyShape("replicate", "r8_", rf"{ALNUM}{{30,}}"),
    KeyShape("fireworks", "fw_", rf"{ALNUM}{{22,}}"),
    KeyShape("together", "tgp_v1_", rf"{ANY}{{30,}}"),
    KeyShape("cerebras", "csk-", rf"{ALNUM}{{32,}}"),
    KeyShape("nvidia", "nvapi-", rf"{ANY}{{40,}}"),
    KeyShape("voyage", "pa-", rf"{ANY}{{40,}}"),
    KeyShape("tavily", "tvly-", rf"(?:dev-|prod-)?{ANY}{{20,}}"),
    KeyShape("firecrawl", "fc-", rf"{HEX}{{32}}"),
    KeyShape("brave", "BSA", rf"{ANY}{{24,32}}"),
    KeyShape("jina", "jina_", rf"{ALNUM}{{32,}}_?{ALNUM}*"),
    KeyShape("langsmith", "lsv2_", rf"(?:pt|sk)_{HEX}{{32}}_{HEX}{{10}}"),
    KeyShape("pinecone", "pcsk_", rf"{ALNUM}{{4,8}}_{ALNUM}{{40,}}"),
    KeyShape("e2b", "e2b_", rf"{HEX}{{40}}"),
    KeyShape("elevenlabs", "sk_", rf"{HEX}{{48}}"),
    KeyShape("zhipu", "", rf"{HEX}{{32}}\.{ALNUM}{{16}}"),
    KeyShape("volcengine", "AKLT", rf"{ALNUM}{{40,}}={{0,2}}"),
    KeyShape("kimi", "sk-kimi-", rf"{ALNUM}{{32,}}"),
    KeyShape("cursor", "", rf"(?:key|crsr)_{HEX}{{64}}"),
    KeyShape("mem0", "m0-", rf"{ALNUM}{{40}}"),
    KeyShape("runpod", "rpa_", rf"{ALNUM}{{40,}}"),
    KeyShape("kaggle", "KGAT_", rf"{HEX}{{32}}"),
    KeyShape("fal", "", rf"{UUID}:{HEX}{{32}}"),
    KeyShape("wandb", "wandb_v1_", rf"{ANY}{{40,}}"),
    KeyShape("chutes", "cpk_", rf"{HEX}{{32}}\.{HEX}{{32}}\.{ALNUM}{{32}}"),
    KeyShape("luma", "luma-", UUID),
)
CLOUDS = (
    KeyShape("aws", "A", r"(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}"),
    KeyShape("aws-bedrock", "ABSK", r"[A-Za-z0-9+/]{40,}={0,2}"),
    KeyShape("google", "AIza", rf"{ANY}{{35}}"),
    KeyShape("google-api-key", "AQ.", rf"A[A-Za-z0-9]{ANY}{{38,}}"),
    KeyShape("google-client-secret", "GOCSPX-", rf"{ANY}{{28}}"),
    KeyShape("google-access-token", "ya29.", rf"{ANY}{{20,}}"),
    KeyShape("google-refresh-token", "1//0", rf"{ANY}{{40,}}"),
    KeyShape("azure-client-secret", "", r"[A-Za-z0-9][A-Za-z0-9_~.]{2}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    KeyShape("azure-devops", "", rf"{ALNUM}{{76}}AZDO{ALNUM}{{4}}"),
    KeyShape("azure-services", "", rf"{ALNUM}{{52}}JQQJ99{ALNUM}{{24,26}}"),
    KeyShape("azure-storage", "", rf"[A-Za-z0-9+/]{{76}}\+ASt{ALNUM}{{6}}=="),
    KeyShape("aliyun", "LTAI", rf"{ALNUM}{{12,26}}"),
    KeyShape("tencent", "AKID", rf"{ALNUM}{{32}}"),
    KeyShape("baidu-v3", "bce-v3/", rf"ALTAK-{ALNUM}{{16,}}/{HEX}{{40}}"),
    KeyShape("baidu", "ALTAK", rf"{ALNUM}{{21}}"),
    KeyShape("yandex-cloud", "AQVN", rf"{ANY}{{35,38}}"),
    KeyShape("scaleway", "SCW", r"[0-9A-Z]{17}"),
    KeyShape("render", "rnd_", rf"{ALNUM}{{28,}}"),
    KeyShape("vercel", "vc", rf"[pkicar]_{ALNUM}{{24,}}"),
    KeyShape("vercel-blob", "vercel_blob_rw_", rf"{ALNUM}{{16,}}_{ALNUM}{{24,}}"),
    KeyShape("neon", "napi_", rf"{ALNUM}{{40,}}"),
    KeyShape("cloudflare", "cf", rf"(?:ut|at|k)_{ANY}{{40,}}"),
    KeyShape("deno", "dd", rf"[po]_{ALNUM}{{36}}"),
    KeyShape("aiven", "AVNS_", rf"{ANY}{{18,}}"),
    KeyShape("mongodb-atlas", "mdb_sa_sk_", rf"{ANY}{{36,}}"),
    KeyShape("dbt", "dbt", rf"[uc]_{ALNUM}{{32,}}"),
    KeyShape("ngrok", "", rf"2[A-Za-z0-9]{{26}}_{ALNUM}{{20,22}}"),
    KeyShape("fly-access", "FlyV1 ", r"fm[12][ar]?_[A-Za-z0-9+/=,_]{60,}"),
    KeyShape("dynatrace", "dt0", r"[a-z]\d{2}\.[0-9A-Z]{24}\.[0-9A-Z]{64}"),
    KeyShape("digitalocean", "do", rf"[opr]_v1_{HEX}{{64}}"),
    KeyShape("heroku", "HRKU-", rf"{ANY}{{36,}}"),
    KeyShape("fly", "fm2_", r"[A-Za-z0-9+/]{100,}={0,3}"),
    KeyShape("netlify", "nfp_", rf"{ALNUM}{{36}}"),
    KeyShape("supabase", "sbp_", rf"(?:v0_)?{HEX}{{40}}"),
    KeyShape("supabase-secret", "sb_secret_", rf"{ANY}{{20,}}"),
    KeyShape("planetscale", "pscale_", rf"(?:tkn|pw|oauth)_{ANY}{{32,}}"),
    KeyShape("databricks", "dapi", rf"{HEX}{{32}}(?:-\d)?"),
    KeyShape("doppler", "dp.", rf"(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]+\.)?{ALNUM}{{40,44}}"),
    KeyShape("tailscale", "tskey-", rf"[a-z]+-{ALNUM}+-{ALNUM}{{20,}}"),
    KeyShape("cloudflare-origin", "v1.0-", rf"{HEX}{{24}}-{HEX}{{146}}"),
    KeyShape("terraform", "", rf"{ALNUM}{{14}}\.atlasv1\.{ANY}{{60,70}}"),
    KeyShape("vault", "hv", rf"[sbr]\.{ANY}{{24,}}"),
    KeyShape("pulumi", "pul-", rf"{HEX}{{40}}"),
    KeyShape("prefect", "pnu_", rf"{ALNUM}{{36}}"),
    KeyShape("yandex", "t1.", rf"{ANY}{{80,}}={{0,2}}\.{ANY}{{80,}}={{0,2}}"),
    KeyShape("openshift", "sha256~", rf"{ANY}{{43}}"),
)
CODE = (
    KeyShape("github", "gh", rf"[pousr]_{ALNUM}{{36,}}"),
    KeyShape("github-fine-grained", "github_pat_", r"[A-Za-z0-9_]{36,}"),
    KeyShape(
        "gitlab", "gl", rf"(?:pat|dt|rt|ptt|ft|soat|cbt|agent|oas|imt|ffct|wt)-{ANY}{{20,}}(?:\.[0-9a-z.]{{5,}})?"
    ),
    KeyShape("gitlab-runner", "GR1348941", rf"{ANY}{{20}}"),
    KeyShape("bitbucket", "ATBB", rf"{ALNUM}{{28,}}"),
    KeyShape("atlassian", "ATATT3", r"[A-Za-z0-9_=-]{60,}"),
    KeyShape("bitbucket-repository", "ATCTT3", r"[A-Za-z0-9_=-]{60,}"),
    KeyShape("trello", "ATTA", rf"{HEX}{{64}}"),
    KeyShape("buildkite", "bk", rf"(?:ua|ct|aj)_{HEX}{{40}}"),
    KeyShape("circleci", "CCI", rf"P(?:AT|RJ)_{ALNUM}{{20,24}}_{HEX}{{40}}"),
    KeyShape("launchdarkly", "sdk-", UUID),
    KeyShape("axiom", "xa", rf"(?:at|pt)-{UUID}"),
    KeyShape("honeycomb", "hca", rf"[a-z]{{2}}_{ALNUM}{{40,}}"),
    KeyShape("posthog", "ph", rf"[xsar]_{ALNUM}{{40,}}"),
    KeyShape("nuget", "oy2", r"[a-z0-9]{43}"),
    KeyShape("packagist", "packagist_", rf"[a-z]{{3}}_{HEX}{{68}}"),
    KeyShape("hashicorp-cloud", "hcp", rf"\.{ANY}{{40,}}"),
    KeyShape("nostr", "nsec1", r"[a-z0-9]{58}"),
    KeyShape("bitcoin-extended", "xprv", r"[1-9A-HJ-NP-Za-km-z]{107}"),
    KeyShape("npm", "npm_", rf"{ALNUM}{{36}}"),
    KeyShape("pypi", "pypi-", rf"Ag[A-Za-z0-9]{ANY}{{40,}}"),
    KeyShape("rubygems", "rubygems_", rf"{HEX}{{48}}"),
    KeyShape("crates", "cio", rf"{ALNUM}{{32}}"),
    KeyShape("clojars", "CLOJARS_", rf"{ALNUM}{{60}}"),
    KeyShape("docker", "dckr_", rf"(?:pat|oat)_{ANY}{{24,}}"),
    KeyShape("sourcegraph", "sgp_", rf"(?:{HEX}{{16}}_|local_)?{HEX}{{40}}"),
    KeyShape("sentry", "sntrys_", r"[A-Za-z0-9_+/=-]{60,}"),
    KeyShape("sentry-user", "sntryu_", rf"{HEX}{{64}}"),
    KeyShape("grafana", "glsa_", rf"{ALNUM}{{32}}_{HEX}{{8}}"),
    KeyShape("grafana-cloud", "glc_", r"[A-Za-z0-9+/]{32,}={0,3}"),
    KeyShape("newrelic", "NRAK-", rf"{ALNUM}{{27}}"),
    KeyShape("postman", "PMAK-", rf"{HEX}{{24}}-{HEX}{{34}}"),
    KeyShape("sonarqube", "sq", rf"[apu]_{HEX}{{40}}"),
    KeyShape("jfrog", "AKCp", rf"{ALNUM}{{60,}}"),
    KeyShape("age", "AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
    KeyShape("1password", "ops_", rf"eyJ{ANY}{{80,}}={{0,3}}"),
)
CHAT = (
    KeyShape("slack", "xox", rf"[abeoprscd](?:\.xox[bp])?-{ANY}{{18,}}"),
    KeyShape("slack-app", "xapp-", rf"\d-{ANY}{{30,}}"),
    KeyShape("slack-webhook", "https://hooks.slack.com/", r"(?:services|workflows|triggers)/[A-Za-z0-9_/+-]{30,}"),
    KeyShape(
        "discord-webhook",
        "https://",
        rf"(?:(?:ptb|canary)\.)?discord(?:app)?\.com/api/webhooks/\d{{15,21}}/{ANY}{{50,}}",
    ),
    KeyShape("teams-webhook", "https://", r"[a-z0-9-]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/_-]{60,}"),
    KeyShape("discord", "", r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}"),
    KeyShape("telegram", "", rf"\d{{8,10}}:AA{ANY}{{32,35}}", r"(?:bot)?"),
    KeyShape("feishu-webhook", "", UUID, r"open\.(?:feishu|larksuite)\.c(?:n|om)/open-apis/bot/(?:v2/)?hook/"),
    KeyShape("dingtalk-webhook", "", rf"{HEX}{{64}}", r"oapi\.dingtalk\.com/robot/send\?access_token="),
    KeyShape("dingtalk-secret", "SEC", rf"{HEX}{{64}}"),
    KeyShape("wecom-webhook", "", UUID, r"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key="),
    KeyShape("facebook", "EAA", rf"{ALNUM}{{80,}}"),
    KeyShape("square-token", "EAAA", rf"{ANY}{{60}}"),
    KeyShape("lark-token", "", r"[tuar]-g10[0-9a-zA-Z]{30,}"),
    KeyShape("matrix", "syt_", rf"{ALNUM}{{2,}}_{ALNUM}{{18,}}_{ALNUM}{{6}}"),
    KeyShape("serverchan", "SCT", rf"\d{{3,8}}T{ALNUM}{{24,}}"),
    KeyShape("mailgun-account", "", rf"{HEX}{{32}}-{HEX}{{8}}-{HEX}{{8}}"),
    KeyShape("mailersend", "mlsn.", rf"{HEX}{{64}}"),
    KeyShape("onesignal", "os_v2_", r"(?:app|org)_[a-z0-9]{40,}"),
    KeyShape("telnyx", "KEY0", rf"{HEX}{{30,34}}_{ALNUM}{{20,24}}"),
    KeyShape("pubnub", "sec-c-", r"[A-Za-z0-9+/=-]{36,}"),
    KeyShape("twitter", "AAAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{80,}"),
    KeyShape("zapier-webhook", "https://hooks.zapier.com/", r"hooks/catch/\d{4,}/[a-z0-9]{5,}"),
    KeyShape("twilio", "SK", rf"{HEX}{{32}}"),
    KeyShape("sendgrid", "SG.", rf"{ANY}{{20,24}}\.{ANY}{{39,50}}"),
    KeyShape("mailgun", "key-", rf"{HEX}{{32}}"),
    KeyShape("mailchimp", "", rf"{HEX}{{32}}-us\d{{1,2}}"),
    KeyShape("brevo", "xkeysib-", rf"{HEX}{{64}}-{ALNUM}{{16}}"),
    KeyShape("resend", "re_", rf"{ALNUM}{{6,10}}_{ALNUM}{{20,}}"),
)
BUSINESS = (
    KeyShape("openclaw-web", "oc_", rf"[a-z0-9]{{8}}_{ANY}{{43}}"),
    KeyShape("stripe", "", rf"[sr]k_(?:live|test|prod)_{ALNUM}{{16,}}"),
    KeyShape("stripe-webhook", "whsec_", r"[A-Za-z0-9+/]{24,}={0,2}"),
    KeyShape("shopify", "shp", rf"(?:at|ca|pa|ss)_{HEX}{{32}}"),
    KeyShape("square", "sq0", rf"(?:atp|csp|idp)-{ANY}{{22,43}}"),
    KeyShape("braintree", "access_token$", rf"(?:production|sandbox)\$[0-9a-z]{{16}}\${HEX}{{32}}"),
    KeyShape("plaid", "access-", rf"(?:sandbox|development|production)-{UUID}"),
    KeyShape("razorpay", "rzp_", rf"(?:live|test)_{ALNUM}{{14,}}"),
    KeyShape("flutterwave", "FLWSECK", rf"(?:_TEST)?-{ALNUM}{{12,}}(?:-X)?"),
    KeyShape("easypost", "EZ", rf"[AT]K{ALNUM}{{54}}"),
    KeyShape("shippo", "shippo_", rf"(?:live|test)_{HEX}{{40}}"),
    KeyShape("linear", "lin_", rf"(?:api|oauth)_{ALNUM}{{32,}}"),
    KeyShape("notion", "ntn_", rf"{ALNUM}{{40,}}"),
    KeyShape("notion-secret", "secret_", rf"{ALNUM}{{43}}"),
    KeyShape("airtable", "pat", rf"{ALNUM}{{14}}\.{HEX}{{64}}"),
    KeyShape("figma", "fig", rf"[duo]r?_{ANY}{{36,}}"),
    KeyShape("contentful", "CFPAT-", rf"{ANY}{{40,}}"),
    KeyShape("dropbox", "sl.", rf"(?:u\.)?{ANY}{{100,}}"),
    KeyShape("asana", "", rf"[12]/\d{{13,19}}(?:/\d{{13,19}})?:{HEX}{{32}}"),
    KeyShape("typeform", "tfp_", rf"{ANY}{{40,}}"),
    KeyShape("adafruit", "aio_", rf"{ALNUM}{{28}}"),
    KeyShape("mapbox", "sk.", rf"eyJ{ANY}{{40,}}\.{ANY}{{20,}}"),
    KeyShape("duffel", "duffel_", rf"(?:live|test)_{ANY}{{40,}}"),
    KeyShape("readme", "rdme_", r"[a-z0-9]{70}"),
    KeyShape("infracost", "ico-", rf"{ALNUM}{{32}}"),
    KeyShape("hubspot", "pat-", rf"(?:na|eu|ap)\d-{UUID}"),
    KeyShape("clickup", "pk_", r"\d{6,9}_[0-9A-Z]{32}"),
    KeyShape("apify", "apify_", rf"(?:api|proxy)_{ALNUM}{{30,}}"),
    KeyShape("browserbase", "bb_", rf"(?:live|test)_{ANY}{{24,}}"),
    KeyShape("woocommerce", "c", rf"[ks]_{HEX}{{40}}"),
    KeyShape("salesforce", "00D", r"[A-Za-z0-9]{12,15}![A-Za-z0-9_.]{80,}"),
    KeyShape("intercom", "dG9rOj", r"[A-Za-z0-9+/]{40,}={0,2}"),
    KeyShape("shopify-other", "shpua_", rf"{HEX}{{32}}"),
    KeyShape("paddle", "pdl_", rf"(?:live|sdbx)_apikey_{ANY}{{40,}}"),
    KeyShape("polar", "polar_", rf"(?:oat|pat|rst|whs)_{ANY}{{32,}}"),
    KeyShape("stripe-organization", "sk_org_", rf"(?:live_|test_)?{ALNUM}{{30,}}"),
)
FAMILIES = (MODELS, CLOUDS, CODE, CHAT, BUSINESS)
SHAPES = (*MODELS, *CLOUDS, *CODE, *CHAT, *BUSINESS)
# Words that services put before random text: `acme_live_…`, `vendor-api-…`.
VENDOR_WORDS = "sk|pat|apikey|api_?key|token|tok|tkn|secret|live|prod|oauth|priv|private|api|key"
# Services whose keys have no shape of their own: their name, or that of half a pair of keys, stands before the value.
# Short names are whole words.
VENDORS = frozenset(
    """
    ably ark asana aws azure baidu box bunny bybit cf cohere dd dhl dingtalk exa fal fastly fedex feishu gh giphy glm
    hcloud iflytek imgur jira kimi kraken lark line linode mapbox n8n notion okta okx ovh plaid pusher qwen reddit
    serpapi serper snyk steam strava suno tmdb trello twitch volc vultr wakatime wecom zoom
    """.split()  # noqa: SIM905
)
LONG_VENDORS = frozenset(
    """
    accesskeysecret accountkey adyen airtable alchemy algolia aliyun alphavantage amap amplitude anthropic artifactory
    assemblyai atlassian auth0 azureopenai azurespeech backblaze baichuan bilibili binance bitbucket bitwarden braintree
    bugsnag cerebras circleci clickup cloudflare cloudinary codecov coinbase confluence confluent contentful dashscope
    databricks datadog deepgram deepl deepseek digitalocean discord dnsimple dockerhub doppler dropbox elevenlabs
    etherscan finnhub firecrawl fireworks gandi gemini github gitlab godaddy googlemaps grafana groq hashicorp heroku
    hetzner huawei hubspot huggingface ifttt infura intercom jfrog jpush klarna linearapp linkedin logdna mailchimp
    mailgun mandrill messagebird minimax mistral mixpanel mollie mongodbatlas moonshot moralis namecheap netlify
    newrelic nexmo ngrok onedrive onepassword openai openrouter openweather opsgenie pagerduty papertrail paypal
    perplexity pexels pinecone planetscale plivo polygonio porkbun postmark pushbullet pushover qdrant qiniu qweather
    railway razorpay replicate rollbar salesforce sanity secretaccesskey segment sendgrid sentry shopify siliconflow
    slack snowflake sonarcloud sparkpost speechmatics splunk spotify squareup stability stripe supabase tailscale
    tavily telegram tencent terraform together tomorrowio travis twilio unsplash upstash vercel volcengine vonage
    weaviate whatsapp woocommerce youtube zapier zendesk zerotier zhipu
    """.split()  # noqa: SIM905
)
