from django.urls import path, re_path

import openclaw_web.pages.converters  # noqa: F401 - <anything:>

from . import views
from .collection import views as collection_views
from .coverage import views as coverage_views
from .decision_samples import views as decision_views
from .exports import views as export_views
from .finding_values import views as finding_views
from .imported_sets import views as import_views
from .kinds import views as kind_views
from .model_scores import views as score_views
from .queues import views as queue_views
from .releases import benchmark_views, sample_views
from .releases import views as release_views
from .review import views as review_views
from .score_evaluation import views as evaluation_views
from .spot_checks import views as check_views
from .statistics import views as statistics_views
from .write_samples import opinion_views

app_name = "datasets"
urlpatterns = [
    path("datasets/statistics/", statistics_views.statistics, name="statistics"),
    path("datasets/statistics/quality/", evaluation_views.score_evaluation, name="score_evaluation"),
    path("samples/", views.sample_list, name="sample_list"),
    path("samples/bulk/", review_views.samples_bulk, name="samples_bulk"),
    path("samples/bulk/label/", review_views.samples_bulk_label, name="samples_bulk_label"),
    path("samples/import/", import_views.set_import, name="set_import"),
    path("samples/import/add/", import_views.set_import_add, name="set_import_add"),
    path("samples/<str:sample_id>/", views.sample_detail, name="sample_detail"),
    path("samples/<str:sample_id>/label/", views.sample_label, name="sample_label"),
    path("agents/<str:agent>/sessions/<str:session_id>/samples/of/", views.session_samples, name="session_samples"),
    path("agents/<str:agent>/sessions/<str:session_id>/samples/", views.samples_make, name="samples_make"),
    # Not below the gate's own: an id there may be any text, and so it may here.
    path("agents/<str:agent>/verdicts/", kind_views.decision_verdicts, name="decision_verdicts"),
    path("agents/<str:agent>/verdicts/<anything:decision_id>/", kind_views.decision_verdict, name="decision_verdict"),
    path("agents/<str:agent>/judge/<anything:decision_id>/", kind_views.decision_judge, name="decision_judge"),
    path("agents/<str:agent>/draw-decisions/", decision_views.decisions_draw, name="decisions_draw"),
    path("agents/<str:agent>/write-verdicts/", kind_views.write_verdicts, name="write_verdicts"),
    path("agents/<str:agent>/write-verdicts/<anything:audit_id>/", kind_views.write_verdict, name="write_verdict"),
    path("agents/<str:agent>/judge-write/<anything:audit_id>/", kind_views.write_judge, name="write_judge"),
    path("agents/<str:agent>/opinions/<anything:audit_id>/", opinion_views.write_opinion, name="write_opinion"),
    path("agents/<str:agent>/opine/<anything:audit_id>/", opinion_views.write_opinion_save, name="write_opinion_save"),
    path("agents/<str:agent>/queue-writes/", kind_views.writes_queue, name="writes_queue"),
    path(
        "agents/<str:agent>/replays/<str:replay_id>/verdicts/", decision_views.replay_verdicts, name="replay_verdicts"
    ),
    path("agents/<str:agent>/replays/<str:replay_id>/queue/", decision_views.replay_queue, name="replay_queue"),
    path("agents/<str:agent>/samples/scores/", score_views.model_scores, name="model_scores"),
    path("agents/<str:agent>/samples/scores/run/", score_views.model_scores_run, name="model_scores_run"),
    path("review/label/", review_views.review_label, name="review_label"),
    path("review/skip/", review_views.review_skip, name="review_skip"),
    path("review/undo/", review_views.review_undo, name="review_undo"),
    path("review/reason/", review_views.review_reason, name="review_reason"),
    path("review/draft/", review_views.review_draft, name="review_draft"),
    path("review/discard/", review_views.review_discard, name="review_discard"),
    path("review/waiting/", review_views.review_waiting, name="review_waiting"),
    path("review/keys/", review_views.review_keys, name="review_keys"),
    path("review/keys/save/", review_views.review_keys_save, name="review_keys_save"),
    path("review/keys/reset/", review_views.review_keys_reset, name="review_keys_reset"),
    path("review/queues/", queue_views.queue_list, name="queue_list"),
    path("review/queues/create/", queue_views.queue_create, name="queue_create"),
    path("review/queues/<str:queue_id>/", queue_views.queue_detail, name="queue_detail"),
    path("review/queues/<str:queue_id>/agreement/", queue_views.queue_agreement, name="queue_agreement"),
    path("review/queues/<str:queue_id>/change/", queue_views.queue_change, name="queue_change"),
    path("review/queues/<str:queue_id>/extend/", queue_views.queue_extend, name="queue_extend"),
    re_path(r"^review/(?:(?P<queue>[^/]+)/)?$", review_views.review, name="review"),  # of everything, or of one queue
    path("samples/<str:sample_id>/finding/", finding_views.sample_finding, name="sample_finding"),
    path("findings/", finding_views.finding_list, name="finding_list"),
    path("findings/texts/", finding_views.finding_texts, name="finding_texts"),
    path("findings/lag/", finding_views.finding_lag, name="finding_lag"),
    path("findings/scan/", finding_views.findings_scan, name="findings_scan"),
    path("findings/undo/", finding_views.finding_undo, name="finding_undo"),
    path("findings/<str:value_hash>/", finding_views.finding_detail, name="finding_detail"),
    path("findings/<str:value_hash>/judge/", finding_views.finding_judge, name="finding_judge"),
    path("collection/", collection_views.collection_list, name="collection_list"),
    path("collection/start/", collection_views.collection_start, name="collection_start"),
    path("collection/what-if/", collection_views.what_if, name="what_if"),
    path("collection/what-if/save/", collection_views.what_if_save, name="what_if_save"),
    path("collection/approval/resume/", check_views.approval_resume, name="approval_resume"),
    path("collection/approval/undo/", check_views.approval_undo, name="approval_undo"),
    path("collection/<int:run_id>/", collection_views.collection_run, name="collection_run"),
    path("collection/<int:run_id>/<str:outcome>/", collection_views.collection_turns, name="collection_turns"),
    path(
        "agents/<str:agent>/sessions/<str:session_id>/turns/<int:number>/outcome/",
        collection_views.turn_outcome,
        name="turn_outcome",
    ),
    path("datasets/", release_views.dataset_list, name="dataset_list"),
    path("datasets/create/", release_views.dataset_create, name="dataset_create"),
    path("datasets/coverage/", coverage_views.dataset_coverage, name="dataset_coverage"),
    path("datasets/coverage/next/", coverage_views.dataset_next, name="dataset_next"),
    path("datasets/coverage/next/queue/", coverage_views.next_queue, name="next_queue"),
    path("datasets/of/<str:version_id>/", release_views.version_of, name="version_of"),
    path("datasets/<str:dataset_id>/", release_views.dataset_detail, name="dataset_detail"),
    path("datasets/<str:dataset_id>/release/", release_views.dataset_release, name="dataset_release"),
    path("datasets/<str:dataset_id>/<int:number>/", release_views.version_detail, name="version_detail"),
    path("datasets/<str:dataset_id>/<int:number>/members/", release_views.member_list, name="member_list"),
    path("datasets/<str:dataset_id>/<int:number>/taints/", release_views.taint_list, name="taint_list"),
    path("datasets/<str:dataset_id>/<int:number>/verify/", release_views.version_verify, name="version_verify"),
    path("datasets/<str:dataset_id>/<int:number>/anew/", release_views.version_anew, name="version_anew"),
    path("datasets/<str:dataset_id>/<int:number>/check/", release_views.version_check, name="version_check"),
    path("datasets/<str:dataset_id>/<int:number>/compare/", benchmark_views.version_compare, name="version_compare"),
    path(
        "datasets/<str:dataset_id>/<int:number>/difference/<str:kind>/",
        release_views.difference_list,
        name="difference_list",
    ),
    path("benchmarks/", benchmark_views.benchmark_list, name="benchmark_list"),
    path("benchmarks/add/", benchmark_views.benchmark_add, name="benchmark_add"),
    path("samples/<str:sample_id>/uses/", sample_views.sample_uses, name="sample_uses"),
    path("agents/<str:agent>/write-uses/<anything:audit_id>/", sample_views.write_uses, name="write_uses"),
    path("exports/<str:export_id>/again/", sample_views.export_again, name="export_again"),
    path("exports/", export_views.export_list, name="export_list"),
    path("exports/create/", export_views.export_create, name="export_create"),
    path("exports/count/", export_views.export_count, name="export_count"),
    path("exports/<str:export_id>/", export_views.export_detail, name="export_detail"),
    path("exports/<str:export_id>/files/<str:name>", export_views.export_file, name="export_file"),
    path("exports/<str:export_id>/zip/", export_views.export_zip, name="export_zip"),
    path("exports/<str:export_id>/verify/", export_views.export_verify, name="export_verify"),
]
